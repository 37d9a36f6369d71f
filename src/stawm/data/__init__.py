"""One record for each data set, pictures in batches, and their augmentation."""

from stawm.data.data_set import (
    DATA_SETS,
    DataRecord,
    DataSet,
    Facts,
    find_data,
    get_data,
    learnt_from,
    list_data,
    load_data,
)
from stawm.data.image_set import ImageSet, Splits, batch_of

__all__ = [
    "DATA_SETS",
    "DataRecord",
    "DataSet",
    "Facts",
    "ImageSet",
    "Splits",
    "batch_of",
    "find_data",
    "get_data",
    "learnt_from",
    "list_data",
    "load_data",
]
