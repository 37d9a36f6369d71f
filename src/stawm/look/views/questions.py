"""What heads remember that are asked about the places of a scene: what was in each cell, and where each class was.

Whether anything was in a cell is told by `identify`, if the model has that head; `stawm ask` tells more.
"""

from collections.abc import Iterable

from torch import nn

from stawm.look.asked import SURE
from stawm.look.views import VIEWS, View
from stawm.model.heads.question import Told
from stawm.model.stawm import Episode


@VIEWS.add("identify")
def identified(head: nn.Module, answer: Told, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """The class that is believed most to have been in each cell, or that nothing was there, and how much."""
    detect, beliefs = episode.answers.get("detect"), answer.beliefs
    there = detect.beliefs[..., 1].tolist() if isinstance(detect, Told) else [[1.0] * beliefs.shape[1]] * len(beliefs)
    return [
        View(answer=_cells(_named(*cell, classes) for cell in zip(*row, strict=True)))
        for row in zip(beliefs.tolist(), there, strict=True)
    ]


@VIEWS.add("detect")
def detected(head: nn.Module, answer: Told, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """Whether anything is believed to have been in each cell; nothing where another head tells that."""
    shares = answer.beliefs.tolist()
    if "identify" in episode.answers:
        return [View() for _ in shares]
    return [View(answer=_cells(_best(share, ("nothing", "something")) for share in row)) for row in shares]


@VIEWS.add("locate")
def located(head: nn.Module, answer: Told, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """The cell that is believed most to have held each class, if it was anywhere."""
    cells = tuple(f"cell {number}" for number in range(1, answer.logits.shape[-1] + 1))
    return [
        View(answer={name: _told(*_best(belief, cells)) for name, belief in zip(classes, row, strict=True)})
        for row in answer.beliefs.tolist()
    ]


def _named(belief: list[float], there: float, classes: tuple[str, ...]) -> tuple[str, float]:
    return _best(belief, classes) if there >= SURE else ("nothing", 1 - there)


def _best(belief: list[float], names: tuple[str, ...]) -> tuple[str, float]:
    return names[belief.index(max(belief))], max(belief)


def _told(name: str, share: float) -> str:
    return f"{name} ({100 * share:.0f} %)"


def _cells(told: Iterable[tuple[str, float]]) -> dict[str, str]:
    return {f"cell {number}": _told(*one) for number, one in enumerate(told, 1)}
