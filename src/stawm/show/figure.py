"""What every figure is: a name, a line about it, and a drawing of what a request offers (CONTRIBUTING.md adds one)."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from PIL import Image

from stawm.registry import Registry
from stawm.show.plot import rendered
from stawm.show.request import Request

if TYPE_CHECKING:
    import matplotlib.figure

FIGURES: "Registry[type[Figure]]" = Registry("figure", home="stawm.show.figures", group="stawm.figures")
"""The figures by name."""


class Figure(ABC):
    """A picture of runs, made of pixels; the first line of its docstring says what it shows."""

    runs: ClassVar[int | None] = 1
    """How many runs it takes at most; none: any number."""
    film: ClassVar[bool] = False
    """Whether it can be a film: `draw` gives one frame for each glimpse where `request.film` says so."""

    chooses: ClassVar[bool] = False
    """Whether `--glimpse` chooses one of the model's for it (`Request.place_of`)."""

    @abstractmethod
    def draw(self, request: Request) -> list[Image.Image]:
        """The frames: one, unless it is a film."""

    @classmethod
    def about(cls) -> str:
        """What it shows, in one line."""
        return (cls.__doc__ or "").strip().partition("\n")[0]


class Chart(Figure):
    """A figure of lines that matplotlib draws, which can also be written as PDF and SVG."""

    @abstractmethod
    def plot(self, request: Request) -> "matplotlib.figure.Figure":
        """The chart."""

    def draw(self, request: Request) -> list[Image.Image]:
        """The chart as pixels."""
        return [rendered(self.plot(request))]
