"""A biologically inspired visual working memory for deep networks (Harris, Niranjan, Hare, ICLR 2019)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from stawm.data import load_data
    from stawm.data.data_set import DATA_SETS
    from stawm.experiments.build import build
    from stawm.experiments.presets import PRESETS, preset
    from stawm.look.public import ask, look
    from stawm.measure.evaluate import evaluate
    from stawm.memory.hebb_rosenblatt import HebbRosenblatt
    from stawm.memory.protocol import MEMORIES, Memory
    from stawm.model.heads.head import HEADS
    from stawm.model.stawm import Episode, Stawm
    from stawm.show.figure import FIGURES
    from stawm.store.weights import load
    from stawm.training.fit import fit

__all__ = [
    "DATA_SETS",
    "FIGURES",
    "HEADS",
    "MEMORIES",
    "PRESETS",
    "Episode",
    "HebbRosenblatt",
    "Memory",
    "Stawm",
    "__version__",
    "ask",
    "build",
    "evaluate",
    "fit",
    "load",
    "load_data",
    "look",
    "preset",
]

_HOMES = {
    "DATA_SETS": "stawm.data.data_set",
    "FIGURES": "stawm.show.figure",
    "HEADS": "stawm.model.heads.head",
    "MEMORIES": "stawm.memory.protocol",
    "Memory": "stawm.memory.protocol",
    "PRESETS": "stawm.experiments.presets",
    "Episode": "stawm.model.stawm",
    "HebbRosenblatt": "stawm.memory.hebb_rosenblatt",
    "Stawm": "stawm.model.stawm",
    "ask": "stawm.look.public",
    "build": "stawm.experiments.build",
    "evaluate": "stawm.measure.evaluate",
    "fit": "stawm.training.fit",
    "load": "stawm.store.weights",
    "load_data": "stawm.data",
    "look": "stawm.look",
    "preset": "stawm.experiments.presets",
}


def __getattr__(name: str) -> Any:
    """The export `name`, imported when first asked for: `import stawm` itself stays quick and needs no torch."""
    if name not in _HOMES:
        raise AttributeError(f"stawm has no {name!r}; it exports {', '.join(sorted(_HOMES))}")
    home = import_module(_HOMES[name])
    export = home if home.__name__ == f"stawm.{name}" else getattr(home, name)  # `look` is a room that can be called.
    globals()[name] = export
    return export


def __dir__() -> list[str]:
    """The exports, whether or not they were asked for yet."""
    return sorted(__all__)
