"""What to compute on: the one place that knows what `auto` stands for."""

import torch

from stawm.errors import UsageError


def usable(device: str) -> str:
    """The device that `device` names, `auto` being a GPU if there is one; one that is not here is a `UsageError`."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    here = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if device in here and not here[device]():
        raise UsageError(f"there is no device {device} here; use auto or cpu")
    return device
