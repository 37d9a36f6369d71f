"""In which precision a model computes: what a setting means on a machine, and what stays in single precision always."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from stawm.errors import UsageError

Precision = Literal["auto", "32", "bf16-mixed", "16-mixed"]
"""32 is float32; in the others products and convolutions are in half precision (autocast), and weights in float32."""
VARIABLE = "STAWM_PRECISION"
"""What "auto" means, where it is set."""
HALVES = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


@dataclass(frozen=True)
class Chosen:
    """A precision that a machine computes in, and why."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"precision {self.name}: {self.why}"


def resolved(asked: str, accelerator: str = "auto") -> Chosen:
    """What `asked` means on this machine; what it cannot do is a `UsageError`.

    "auto" is bf16-mixed where bfloat16 is in hardware, and float32 elsewhere: there it learns as well in less
    time (docs/speed.md). $STAWM_PRECISION says otherwise, for all that is left to this.
    """
    if asked == "auto" and (wanted := os.environ.get(VARIABLE, "auto")) != "auto":
        return replace(resolved(wanted, accelerator), why=f"as {VARIABLE} says")
    if asked not in get_args(Precision):
        raise UsageError(f"unknown precision {asked!r}; choose {', '.join(get_args(Precision))}")
    on_gpu = torch.cuda.is_available() and accelerator in ("auto", "cuda", "gpu")
    if asked == "16-mixed" and not on_gpu:
        raise UsageError("precision 16-mixed is for GPUs, and this is to compute on something else; choose bf16-mixed")
    if asked != "auto":
        slow = "" if asked == "32" or _has_bf16(on_gpu) else ", which this machine computes slowly, without hardware"
        return Chosen(asked, f"as asked{slow}")
    if _has_bf16(on_gpu):
        return Chosen(
            "bf16-mixed", "this machine has bfloat16 in hardware; --training.precision 32 computes in float32"
        )
    return Chosen("32", "this machine has no bfloat16 in hardware")


def mixed(precision: str, device: torch.device | str) -> AbstractContextManager[object]:
    """A context in which a model computes in this precision, which may not be auto."""
    if precision == "32":
        return nullcontext()
    return torch.autocast(torch.device(device).type, HALVES[precision])


def is_mixed(like: Tensor) -> bool:
    """Whether products on the device of `like` are in half precision now; never while a model is exported."""
    kind = like.device.type
    if torch.compiler.is_exporting() or not torch.amp.is_autocast_available(kind):
        return False
    return torch.is_autocast_enabled(kind)


def exact(like: Tensor) -> AbstractContextManager[object]:
    """A context in which nothing on the device of `like` is cast to half precision."""
    return torch.autocast(like.device.type, enabled=False) if is_mixed(like) else nullcontext()


def single(numbers: Tensor) -> Tensor:
    """The same in single precision at least: half cannot hold a place, a long sum, or an alpha near one."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))


def _has_bf16(on_gpu: bool) -> bool:
    """Whether the GPU, or this CPU, multiplies bfloat16 in hardware."""
    if on_gpu:
        return torch.cuda.get_device_capability() >= (8, 0)
    known = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in known)
