"""`python -m stawm` is `stawm`."""

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
_IMPORTING = "<frozen importlib._bootstrap>"


def main() -> int:
    """The exit code of the command line."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heard:  # A shell starts what runs in its background with deaf ears, and so it stays.
        signal.signal(signal.SIGINT, _stop)
    # Only now, since it takes time.
    from stawm.cli import main as run

    code = run()
    if heard:  # What is left is the interpreter's own end, which has nothing to say.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave at once while something is imported, where an exception could be lost; later raise it, as Python does."""
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            os.write(2, b"stawm: stopped\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
