"""Options that several verbs take, each said once, and how a verb's function is called from a command line."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any, Literal, TypeVar

from tyro.conf import FlagConversionOff, FlagCreatePairsOff, Positional, arg

from stawm.cli import first_process


def flag(about: str, metavar: str | None = None, hint: str = "", **more: Any) -> Any:
    """How an option is shown in the help: `hint` stands in the place of its default."""
    return arg(help=about, metavar=metavar, help_behavior_hint=hint, **more)


WHERE = "where your data sets are (else $STAWM_DATA, else they are fetched into a cache folder)"
DataDir = Annotated[Path | None, flag(WHERE, "DIR")]
Device = Annotated[Literal["auto", "cpu", "cuda", "mps"], arg(help="what to compute on; auto is a GPU if there is one")]
ENGINE = "what runs the model: torch; onnx (onnxruntime) and int8 (it, with weights of eight bits) make a graph once"
Engine = Annotated[Literal["auto", "torch", "onnx", "int8"], arg(help=f"{ENGINE}; auto is onnx if that was made")]
Computed = Annotated[Literal["32", "bf16-mixed", "16-mixed"], arg(help="float32, or half precision for products")]
Images = Annotated[tuple[Path, ...], Positional, flag("pictures, or folders of them", "IMAGES")]
Json = Annotated[bool, flag("print JSON for scripts, and nothing else")]
Ledger = Annotated[Path, arg(metavar="DIR", help="the folder of the ledger")]
Model = Annotated[str, Positional, arg(metavar="RUN_OR_WEIGHTS", help="a run folder, a folder of weights, or a name")]


@dataclass(frozen=True)
class Settings:
    """The settings of an experiment; none, and so no flags, until one is named."""


NO_SETTINGS = Settings()
Kind = TypeVar("Kind", bound=Settings)


def call(verb: Callable[..., int | None], arguments: Sequence[str], prog: str) -> int:
    """What `verb` returns when it is called as `arguments` say; tyro tells what is wrong with them, and leaves.

    The help opens with the first line of the verb's docstring and ends with that of its module (or its `more()`).
    """
    import tyro

    function = getattr(verb, "func", verb)
    about = (inspect.getdoc(function) or "").partition("\n\n")[0]
    options = {"description": about, "config": (FlagCreatePairsOff,), "console_outputs": first_process()}
    try:
        return tyro.cli(verb, args=list(arguments), prog=prog, **options) or 0
    except SystemExit as left:
        if not left.code and first_process():
            module = sys.modules[function.__module__]
            more = module.more() if hasattr(module, "more") else inspect.getdoc(module) or ""
            print(wrapped(more.partition("\n\n")[2].rstrip()))
        raise


def parsed(settings: Kind, arguments: Sequence[str], prog: str) -> Kind:
    """The settings with those replaced that `arguments` name; tyro tells what is wrong with them, and leaves."""
    import tyro

    options = {"config": (FlagConversionOff,), "console_outputs": first_process()}
    return tyro.cli(type(settings), default=settings, args=list(arguments), prog=prog, **options)


def wrapped(text: str) -> str:
    """Paragraphs filled to the width of the terminal; those with indented lines stay as they are."""
    width = min(get_terminal_size().columns, 100)
    parts = [part if "\n  " in part else fill(" ".join(part.split()), width) for part in text.split("\n\n")]
    return "\n\n".join(parts)
