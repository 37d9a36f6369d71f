"""`stawm ask`.

PICTURES is one picture of a scene, in the proportions of the model's grid with a digit in some of its cells; or
several pictures of single digits, one for each cell, with - for an empty one. Cells are counted from 1, row by row: of
2 × 2 cells, 1 and 2 are above 3 and 4. The model looks first, in a few glimpses; the question comes afterwards, and
only what was written into the memory answers it. Without PICTURES it looks at three digits that come with the package.
Two models come with it too: scenes-4-ask for 2 × 2 cells, scenes-8-ask for 2 × 4.

Examples:
  stawm ask
  stawm ask scene.png --at 2
  stawm ask scene.png --where 7
  stawm ask seven.png - three.png one.png --out remembered.png
  stawm ask --model scenes-8-ask --at 4
  stawm ask scene.png --model runs/scenes-4-ask-seed0 --json | jq '.recalled.cells[].prediction'
"""

from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional

from stawm.cli.options import Json, flag
from stawm.errors import UsageError
from stawm.files import check_apart

if TYPE_CHECKING:
    from stawm.look.asked import Asked, CellRecall, ClassRecall

EMPTY = "-"
DEMO = ("3", "2", None, "1")
"""What is in the cells of the scene that is shown to a model if nobody gives one."""
NOTHING = "nothing to see, so nothing is remembered"
MODEL = "scenes-4-ask"
EDGE = 252
"""The longer edge of a scene in the picture that is written, in pixels."""

SCENE = flag("a scene, or a digit for each cell (- is an empty one)", "PICTURES")
Pictures = Annotated[tuple[str, ...], Positional, SCENE]
DRAWN = "a PNG: where it looked, and what it redraws from memory"
Model = Annotated[str, flag("the model: weights by name, a folder or a run", "NAME_OR_PATH", aliases=["--weights"])]


def ask(
    pictures: Pictures = (),
    *,
    at: Annotated[int | None, flag("what was in this cell?", "CELL", "(all cells)")] = None,
    where: Annotated[str | None, flag("where was this digit?", "DIGIT", "(all that are remembered)")] = None,
    model: Model = MODEL,
    out: Annotated[Path | None, flag(DRAWN, "FILE", "(none)")] = None,
    json: Json = False,
) -> None:
    """Let a trained model look at a scene once, then ask it what was where."""
    if out is not None and out.suffix.lower() != ".png":
        raise UsageError(f"--out {out} is no PNG; give a name that ends in .png")
    if out is not None:
        check_apart(out, map(Path, pictures))

    from stawm.look.answer import to_json
    from stawm.look.public import asked_of, rememberer_of
    from stawm.look.rememberer import only

    rememberer = rememberer_of(model)
    number = None if at is None else rememberer.check_cell(at)
    name = None if where is None else rememberer.check_class(where)
    asked = asked_of(rememberer, _scene(pictures))
    if out is not None:
        _write(asked, out)
    told = replace(asked, recalled=asked.recalled and only(asked.recalled, number, name))
    print(dumps(to_json(told), allow_nan=False) if json else "\n".join(_lines(told, number, name)))


def _scene(pictures: tuple[str, ...]) -> Any:
    """One picture, or one for each cell."""
    if len(pictures) == 1:
        return pictures[0]
    if pictures:
        return [None if picture == EMPTY else picture for picture in pictures]
    from stawm.look.examples import example_digits

    known = {example.label: example.png.image() for example in example_digits()}
    return [None if label is None else known[label] for label in DEMO]


def _lines(asked: "Asked", at: int | None, where: str | None) -> list[str]:
    seen = asked.seen
    if asked.recalled is None:
        return [f"{seen.name}: {'; '.join((*seen.notes[:-1], NOTHING))}"]
    lines = [*map(_what, asked.cells)]
    if where is not None:
        return [*lines, *map(_where, asked.classes)]
    if at is not None:
        return lines
    done = f" ({'; '.join(seen.notes)})" if seen.notes else ""
    found = ", ".join(f"{one.name} in cell {one.cell}" for one in asked.classes if one.remembered)
    head = f"{seen.name}, seen once in {len(seen.glimpses)} glimpses by {seen.model}{done}"
    return [head, *lines, *([f"asked by digit: {found or 'none is remembered'}"] if asked.classes else [])]


def _what(cell: "CellRecall") -> str:
    if cell.prediction is not None and cell.confidence is not None:
        return f"cell {cell.number}: {cell.prediction} ({_percent(cell.confidence)})"
    if cell.there is None:
        return f"cell {cell.number}: this model is not asked"
    return f"cell {cell.number}: " + (
        f"something ({_percent(cell.there)})" if cell.there >= 0.5 else f"nothing ({_percent(1 - cell.there)})"
    )


def _where(one: "ClassRecall") -> str:
    if one.remembered is False:
        return f"{one.name}: not remembered"
    return f"{one.name}: in cell {one.cell} ({_percent(one.confidence)})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _write(asked: "Asked", path: Path) -> None:
    """The scene with its glimpses, and the redrawing beside it."""
    import torch

    from stawm.files import whole_file
    from stawm.show.grid import Cell, grid
    from stawm.show.sheet import colour_of

    def shown(picture: Any) -> Any:
        return torch.from_numpy(picture.array.copy()).float().div(255).reshape(-1, *picture.array.shape[:2])

    seen = asked.seen
    count = len(seen.glimpses)
    outlines = tuple((list(one.outline), colour_of(one.number - 1, count)) for one in seen.glimpses)
    cells = [Cell(shown(seen.image.png), outlines, "seen")]
    if asked.drawing is not None:
        cells.append(Cell(shown(asked.drawing), caption="redrawn from memory"))
    with whole_file(path) as partial:
        grid([cells], edge=EDGE).save(partial, "PNG")
