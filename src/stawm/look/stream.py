"""Any number of pictures through a model: read as they are needed, looked at in batches, never more than one held."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from stawm.data.prepare.given import open_given
from stawm.data.prepare.prepared import Prepared
from stawm.data.sets.folder import files_under
from stawm.errors import DataError
from stawm.files import real
from stawm.look.answer import Look
from stawm.look.looker import Looker

SUFFIXES = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".bmp", ".dib")
"""How picture files end; others in a folder are passed over, while a file that is named itself is always tried."""

Source = Path | bytes


def pictures_in(given: Iterable[Path]) -> list[tuple[str, Path]]:
    """The picture files that were given, on their own or anywhere in a folder, each once and with its name."""
    found: dict[Path, tuple[str, Path]] = {}
    for path in given:
        if path.is_dir():
            inside = [one for one in files_under(path) if one.suffix.lower() in SUFFIXES]
            if not inside:
                raise DataError(f"the folder {path} has no pictures (PNG, JPEG, WebP or BMP); give another")
            found |= {real(one): (one.relative_to(path).as_posix(), one) for one in inside}
        else:
            found.setdefault(real(path), (path.name, path))
    return list(found.values())


def look_at(
    looker: Looker,
    pictures: Iterable[tuple[str, Source]],
    *,
    batch_size: int,
    memory: bool = False,
    until: float | None = None,
    broken: Callable[[DataError], None],
) -> Iterator[Look]:
    """A look at each picture in turn; one that cannot be read is told to `broken` and passed over.

    With `until`, looking ends once a class is believed so much.
    """
    rest = iter(pictures)
    while batch := list(islice(rest, batch_size)):
        names: list[str] = []
        ready: list[Prepared] = []
        for name, source in batch:
            try:
                ready.append(looker.prepare(open_given(source, str(source) if isinstance(source, Path) else name)))
                names.append(name)
            except DataError as failure:
                broken(failure)
        yield from looker.look(ready, names, memory=memory, until=until)
