"""What runs a model for a look: pictures in, the episode out; every engine answers as torch does, or nearly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from stawm.errors import UsageError
from stawm.model.stawm import Episode, Stawm
from stawm.store.weights import Trained

Kind = Literal["auto", "torch", "onnx", "int8"]
"""`auto` is onnx where the graph of these weights was made before, else torch."""


@runtime_checkable
class Engine(Protocol):
    """A way to run one model, all of it: whatever a look tells, it tells of this episode."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def __call__(self, images: Float[Tensor, "batch channel height width"]) -> Episode:
        """The episode over pictures in [0, 1], of any number, on whatever device."""
        ...


@dataclass(frozen=True)
class TorchEngine:
    """The model itself, where it is: on the CPU or a GPU."""

    model: Stawm
    name: str = "torch"

    def __call__(self, images: Float[Tensor, "batch channel height width"]) -> Episode:
        """The episode, on the device of the model."""
        return self.model(images.to(next(self.model.parameters()).device))


def open_engine(trained: Trained, kind: Kind = "torch", tell: Callable[[str], None] = lambda line: None) -> Engine:
    """The engine of this kind for a model that takes glimpses; what takes time is told in a line.

    An engine whose library is not here, or that cannot run this model, is a `UsageError`.
    """
    model = trained.model
    if not isinstance(model, Stawm):
        raise UsageError(f"{trained.experiment.name} has no memory to look with; give a model of kind stawm")
    if kind == "torch":
        return TorchEngine(model)
    from stawm.look.graph_engine import find_graph_engine, open_graph_engine

    if kind == "auto":
        return find_graph_engine(trained, "onnx") or TorchEngine(model)
    return open_graph_engine(trained, kind, tell)
