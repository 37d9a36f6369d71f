"""A picture in, one typed answer out: what a trained model saw, believed, drew and remembered.

The room can be called: `stawm.look("three.png")`. It is a module of a class of its own, so that `stawm.look` is one
object, a call and a package, whichever of its modules was imported first.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stawm.look.answer import Look
    from stawm.look.public import Known, Pictures


class _Call(ModuleType):
    def __call__(
        self, pictures: "Pictures", model: "Known | None" = None, memory: bool = False, *, until: float | None = None
    ) -> "Look | list[Look]":
        """The look of a trained model at a picture, or at each of a list; see `stawm.look.public.look`."""
        from stawm.look.public import look

        return look(pictures, model, memory, until=until)


sys.modules[__name__].__class__ = _Call
