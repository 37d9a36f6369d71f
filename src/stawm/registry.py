"""Things by name that anybody may add to: a module of this package, a user's own script, or a Python entry point."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from threading import RLock
from typing import Any, Generic, TypeVar, overload

from stawm.errors import UsageError

logger = logging.getLogger(__name__)
Thing = TypeVar("Thing")
Added = TypeVar("Added")


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Things of one kind by name.

    Those of this package are found by importing every module of `home` when the first name is asked for; those of other
    packages by their entry points in `group`; those of a script by its own call of `add`, which must come before.
    With `kind`, things are records: every constant of that type in a module of `home` is entered under its `name`.
    """

    def __init__(
        self, what: str, *, home: str, group: str, kind: type[Any] | None = None, beside: tuple[str, ...] = ()
    ) -> None:
        """A registry of `what` (in messages: "memory rule", "figure"), empty until it is asked.

        `beside` are names that people may give as well, though nothing is entered under them: messages offer them, too.
        """
        self.what, self.home, self.group, self.kind, self.beside = what, home, group, kind, beside
        self._things: dict[str, Thing] = {}
        self._broken: dict[str, str] = {}
        self._complete = self._finding = False
        self._lock = RLock()

    @overload
    def add(self, name: str, thing: Added) -> Added: ...

    @overload
    def add(self, name: str) -> Callable[[Added], Added]: ...

    def add(self, name: str, thing: Any = None) -> Any:
        """Enter `thing` under `name`, or use it as a decorator: `@MEMORIES.add("delta-rule")`.

        A name that is taken may only be given again to the same definition (a notebook cell that is run twice).
        """
        if thing is None:
            return lambda decorated: self.add(name, decorated)
        before = self._things.get(name)
        if name in self.beside or (before is not None and not _same(before, thing)):
            raise UsageError(f"there is a {self.what} {name!r} already; choose another name")
        self._things[name] = thing
        return thing

    def __getitem__(self, name: str) -> Thing:
        """The thing of that name; an unknown one is a `UsageError` that offers the nearest."""
        things = self._found()
        if name in things:
            return things[name]
        if name in self._broken:
            raise UsageError(f"the {self.what} {name!r} of {self._broken[name]}")
        known = (*self.beside, *things)
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"there is no {self.what} {name!r}; {hint}known are {', '.join(known)} "
            "(one of your own must be imported first)"
        )

    def get(self, name: str, default: Any = None) -> Any:
        """The thing of that name, or `default`."""
        return self._found().get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._found()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> dict[str, Thing]:
        """All things, after whatever registers itself was imported; another thread waits until that is done."""
        if self._complete:
            return self._things
        with self._lock:
            if not self._complete and not self._finding:  # A module that is being imported may ask, too.
                self._finding = True
                try:
                    self._complete = self._import()
                finally:
                    self._finding = False
        return self._things

    def _import(self) -> bool:
        """Whether that was all: points of a package that asks while it is being imported have to be tried again."""
        complete = True
        for found in iter_modules(import_module(self.home).__path__):
            module = import_module(f"{self.home}.{found.name}")
            for thing in vars(module).values() if self.kind else ():
                if isinstance(thing, self.kind or ()):
                    self.add(thing.name, thing)
        for point in entry_points(group=self.group):
            if point.name not in self._things:
                try:
                    self.add(point.name, point.load())
                except Exception as failure:  # Code of others may raise anything.
                    if _half_imported(point.value):
                        complete = False
                        continue
                    reason = " ".join(f"{type(failure).__name__}: {failure}".split())
                    self._broken[point.name] = (
                        f"{point.value} cannot be loaded ({reason}); update or remove its package"
                    )
                    logger.warning("the %s %r of %s", self.what, point.name, self._broken[point.name])
        return complete


def _half_imported(value: str) -> bool:
    """Whether a module of the package that an entry point names is being imported: what it lacks may come yet."""
    package = value.partition(":")[0].partition(".")[0]
    return any(
        getattr(getattr(one, "__spec__", None), "_initializing", False)  # As importlib marks them.
        for name, one in tuple(sys.modules.items())
        if name.partition(".")[0] == package
    )


def _same(one: Any, other: Any) -> bool:
    """Whether two things are one, or a class or function that was defined again in the same place."""
    if hasattr(one, "__qualname__") and hasattr(other, "__qualname__"):
        return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    return one == other
