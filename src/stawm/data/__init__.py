"""Named data sets, batched augmentation, the embedded digits."""

from stawm.data.image_set import ImageSet, Splits, batch_of
from stawm.data.load import load_data
from stawm.data.stock import DataRecord, get_data, list_data

__all__ = ["DataRecord", "ImageSet", "Splits", "batch_of", "get_data", "list_data", "load_data"]
