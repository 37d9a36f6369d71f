"""`stawm serve`."""

import sys

from stawm.cli.parser import Parser
from stawm.errors import UsageError

ABOUT = """\
Serve a page on which a digit is drawn, or a picture dropped, and a trained model looks at it: where, what it saw, what
it drew, what it believed and remembered. Behind it is a JSON API (/api/docs). Only this machine can reach it unless
--host says otherwise; nothing is written to disk. Needs the serve extra: pip install "stawm[serve]"."""

EXAMPLES = """\
  stawm serve
  stawm serve --weights runs/mnist-5k-sketchpad-seed0 --port 9000
  stawm serve --host 0.0.0.0 --workers 4 --log json"""


def run(arguments: list[str]) -> int:
    """Serve as `arguments` say, until stopped."""
    parser = Parser("serve", ABOUT, EXAMPLES)
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="the port; 0 is any that is free (8000)")
    what = "names or folders of weights; the first is the default (all that come with the package)"
    parser.add_argument("--weights", nargs="+", default=[], metavar="NAME_OR_PATH", help=what)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that answer (1)")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="most pictures looked at at once (32)")
    parser.add_argument("--queue", type=int, default=128, metavar="N", help="most pictures that wait (128)")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="S", help="seconds for one request (20)")
    threads = "threads of torch in each worker (1; 0 is all cores, shared out: slower for models of this size)"
    parser.add_argument("--threads", type=int, default=1, metavar="N", help=threads)
    parser.add_argument("--pictures", type=int, default=16, metavar="N", help="most pictures in one request (16)")
    parser.add_argument("--body", type=int, default=20, metavar="MIB", help="longest body of a request, in MiB (20)")
    lines = "a line on stderr for each request (text in a terminal, else json)"
    parser.add_argument("--log", choices=("text", "json", "none"), help=lines)
    given = parser.parse_args(arguments)

    from stawm.serve.settings import MIB, Settings

    kind = given.log or ("text" if sys.stderr.isatty() else "json")
    values = vars(given) | {"weights": tuple(given.weights), "body": given.body * MIB, "log": kind}
    settings = Settings(**values)
    try:
        from stawm.serve.run import run_server
    except ModuleNotFoundError as failure:
        if (failure.name or "").partition(".")[0] == "stawm":
            raise
        raise UsageError(
            f'stawm serve needs {failure.name}, which is not here; pip install "stawm[serve]"'
        ) from failure
    run_server(settings)
    return 0
