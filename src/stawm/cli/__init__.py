"""The command line: a function for each verb; `main` turns mistakes into one line and an exit code."""

import logging
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from errno import ENAMETOOLONG, ENOSPC
from importlib import import_module
from io import TextIOWrapper
from itertools import zip_longest

from stawm import __version__
from stawm.errors import StawmError, StorageError, UsageError

INTERRUPTED = 130
LONGEST = 600
"""Letters of a message; of a longer one, which names something very long, the middle is left out."""

NAMES = (
    *("train", "compare", "evaluate", "presets", "data", "figure", "look", "ask", "serve", "masks"),
    *("export", "table", "record", "calibrate", "ship"),
)
VERBS = {verb: f"stawm.cli.{verb}" for verb in NAMES}
"""Each verb and its module, in which the function of that name does it. The first line of its docstring is its help."""
SHOWN = ("look", "ask", "masks")
"""Verbs that are given pictures: an empty name would be that of the folder they are called in."""
PLACES = ("--run", "--run-dir", "--out", "--home", "--ledger", "--data-dir")
"""Flags that take a folder or a file: an empty one would be the folder that the verb is called in."""
GO_ON = {"train": "; go on with --resume", "compare": "; the same command goes on"}
"""What is said of a verb that was stopped by hand and can go on."""

OVERVIEW = """\
usage: stawm VERB ...

A visual working memory for deep networks: look a few times, remember, answer.

verbs:
{verbs}

`stawm VERB --help` says more; `stawm --version` prints the version.

examples:
  stawm look my-digits
  stawm ask scene.png --where 7
  stawm train mnist-5k-classify
  stawm train folder:my-pictures
  stawm compare mnist-5k-classify --vary model.memory.size=64,128 --seeds 0,1
  stawm evaluate runs/mnist-5k-classify-seed0
  stawm calibrate runs/mnist-sketchpad-seed0
  stawm figure looked runs/mnist-5k-classify-seed0
  stawm table runs/*

exit codes: 0 done, 2 usage, 3 data, 4 checkpoint or weights, 5 training cannot go on, 6 cannot write, 130 stopped"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, a `StawmError`'s own, or 130 when stopped by hand; a mistake is one line on stderr.

    What is wrong with a flag or its value is told by tyro, and the exit code is 2.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _speak()
        _print_anything()
    try:
        if any("\0" in argument for argument in arguments):
            raise UsageError("an argument has a NUL in it, which no name may have; give another")
        if arguments[:1] and arguments[0] in SHOWN and "" in arguments:
            raise UsageError("an argument is empty (a variable that is not set?); give the name of a picture")
        if place := _empty_place(arguments):
            raise UsageError(f"{place} is empty (a variable that is not set?); give the name of a folder or a file")
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except StawmError as failure:
        return _tell(failure)
    except KeyboardInterrupt:
        print(f"stawm: stopped{GO_ON.get(arguments[0], '')}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`stawm presets | head`): no mistake; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as failure:
        if failure.errno == ENAMETOOLONG:
            return _tell(UsageError(f"the name {failure.filename} is too long; give another"))
        if failure.errno != ENOSPC:
            raise
        where = f" while writing {failure.filename}" if failure.filename else ""
        return _tell(StorageError(f"the disk is full{where}; free some space and try again"))


def _empty_place(arguments: Sequence[str]) -> str | None:
    """The first of the flags that take a place to which an empty one is given."""
    pairs = zip_longest(arguments, arguments[1:])
    return next((flag.rstrip("=") for flag, value in pairs if _names_nothing(flag, value)), None)


def _names_nothing(flag: str, value: str | None) -> bool:
    name = flag.replace("_", "-")
    return (name in PLACES and value == "") or (name.endswith("=") and name[:-1] in PLACES)


def _speak() -> None:
    """Let warnings of this package look like its mistakes; those of other packages stay as they are."""
    handler, logger = logging.StreamHandler(), logging.getLogger("stawm")
    handler.setFormatter(logging.Formatter("stawm: %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False


def _print_anything() -> None:
    """Let names of files that are no text, or letters that a terminal lacks, be printed with what stands for them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def first_process() -> bool:
    """Whether this process speaks for the run: rank 0 under torchrun, and a process on its own."""
    return os.environ.get("RANK", "0") == "0"


def _run(arguments: list[str]) -> int:
    if arguments[:1] in (["--version"], ["-V"]):
        print(f"stawm {__version__}")
        return 0
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(OVERVIEW.format(verbs="\n".join(f"  {verb:10}{_about(verb)}" for verb in VERBS)))
        return 0 if arguments else UsageError.exit_code
    verb, rest = arguments[0], arguments[1:]
    if verb not in VERBS:
        near = get_close_matches(verb, VERBS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no verb {verb!r}; {hint}stawm knows {', '.join(VERBS)}")
    module = import_module(VERBS[verb])
    from stawm.cli.options import call

    try:
        # The options of some depend on the preset, so they have their own way of being called.
        own = getattr(module, "run", None)
        return own(rest) if own else call(getattr(module, verb), rest, f"stawm {verb}")
    except SystemExit as left:  # tyro, after it has printed the help that was asked for, or what is wrong
        return int(left.code or 0)


def _about(verb: str) -> str:
    return (getattr(import_module(VERBS[verb]), verb).__doc__ or "").partition("\n")[0]


def _tell(failure: StawmError) -> int:
    # All processes of a run read the same command line: one complaint about it is enough.
    if first_process() or not isinstance(failure, UsageError):
        line = " ".join(str(failure).split())
        if len(line) > LONGEST:
            line = f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
        print(f"stawm: {line}", file=sys.stderr)
    return failure.exit_code
