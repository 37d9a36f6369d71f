"""A trained model with pictures to show it."""

from pathlib import Path

from stawm.data import ImageSet, load_data
from stawm.store.device import usable
from stawm.store.weights import Trained, load_trained


def open_trained(model: str, data: str | None, data_dir: Path | None, device: str = "auto") -> tuple[Trained, ImageSet]:
    """The model of a run or weights folder, on its device, and the test pictures of `data` (else its own set)."""
    trained = load_trained(model)
    name = data or trained.experiment.data.name
    splits = load_data(name, data_dir=data_dir, image=trained.experiment.model.image.shape)
    trained.model.to(usable(device))
    return trained, splits.test
