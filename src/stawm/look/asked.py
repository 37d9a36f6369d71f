"""What is remembered of a scene: the types of what Python gets, and of the JSON that scripts, server and page share.

First a scene is seen, and something of it is kept. Questions come later, and only what was kept answers them.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from stawm.data.prepare.prepared import Placed
from stawm.look.answer import Glimpse, Image
from stawm.look.picture import Picture

SURE = 0.5
"""From this belief on that something was in a cell, its class is told."""


@dataclass(frozen=True)
class Kept:
    """All that is kept of a look: nothing of the picture but what was written into the memory.

    A question is a query of its own, so the codes are enough. To redraw, a model asks with a query that it made of its
    context when it looked, and pastes by inverse poses that it chose then: these are kept, too.
    """

    codes: Float[Tensor, "glimpse memory"]
    """What was written, glimpse by glimpse: each in [0, 6]."""
    query: Float[Tensor, "memory"] | None = None
    """What the drawing head asks with; none in a model that does not draw."""
    inverses: Float[Tensor, "glimpse 2 3"] | None = None
    """Where its sketches go."""


@dataclass(frozen=True)
class Seen:
    """One look at one scene, before any question."""

    name: str
    model: str
    inverted: bool
    """Whether dark and light were exchanged."""
    notes: tuple[str, ...]
    """What was done to the picture, for people."""
    found: int | None
    """How many cells have something drawn in them: with 0 nothing is kept. Null if one picture of all was given."""
    classes: tuple[str, ...]
    rows: int
    """Cells above each other."""
    columns: int
    """Cells side by side."""
    image: Image
    given: Placed | None
    """Where the image lies in the picture that was given; null if cells were given, or nothing was found."""
    glimpses: tuple[Glimpse, ...]


@dataclass(frozen=True)
class CellRecall:
    """What is remembered of one cell."""

    number: int
    """From 1, row by row."""
    there: float | None
    """How much it is believed that something was there; null for a model that is not asked."""
    prediction: str | None
    """The class that is believed most; null if nothing is believed to have been there."""
    confidence: float | None
    """How much the class is believed, if something was there."""
    belief: tuple[float, ...] | None
    """The probability of each class, if something was there; null for a model that is not asked."""
    drawing: Picture | None
    """This cell of what is redrawn from memory; null for a model that does not draw."""


@dataclass(frozen=True)
class ClassRecall:
    """Where one class is remembered to have been."""

    name: str
    remembered: bool | None
    """Whether any cell is believed to have held it; null for a model that is not asked what was where."""
    cell: int
    """The number of the cell that is believed most; a guess if the class is not remembered."""
    confidence: float
    """How much it is believed."""
    belief: tuple[float, ...]
    """The probability of each cell, if the class was in one of them."""


@dataclass(frozen=True)
class Recollection:
    """The answers that a memory gives; what was not asked is not told."""

    cells: tuple[CellRecall, ...]
    classes: tuple[ClassRecall, ...]
    drawing: Picture | None
    """The scene, redrawn from memory."""


@dataclass(frozen=True)
class Asked:
    """A scene that was seen once, and all that is remembered of it."""

    seen: Seen
    recalled: Recollection | None
    """Null if there was nothing to see."""

    @property
    def cells(self) -> tuple[CellRecall, ...]:
        """What was at each place; none if there was nothing to see."""
        return self.recalled.cells if self.recalled else ()

    @property
    def classes(self) -> tuple[ClassRecall, ...]:
        """Where each class was; none if there was nothing to see."""
        return self.recalled.classes if self.recalled else ()

    @property
    def drawing(self) -> Picture | None:
        """The scene, redrawn from memory."""
        return self.recalled.drawing if self.recalled else None
