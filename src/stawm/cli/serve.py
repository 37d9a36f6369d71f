"""`stawm serve`.

A digit is drawn on the page, or a picture dropped, and the model looks at it: where, what it saw, what it drew,
what it believed and remembered. The API is described at /api/docs. Only this machine can reach the server unless
--host says otherwise; nothing is written to disk. Needs the serve extra: pip install "stawm[serve]".

Examples:
  stawm serve
  stawm serve --weights runs/mnist-5k-sketchpad-seed0 --port 9000
  stawm serve --host 0.0.0.0 --workers 4 --log json
"""

import sys
from typing import Annotated, Literal

from tyro.conf import arg

from stawm.cli.options import Engine, flag
from stawm.errors import UsageError

WEIGHTS = "names or folders of weights; the first is the default"
THREADS = "threads of torch in each worker; 0 is all cores, shared out: slower for models of this size"
LOG = "a line on stderr for each request"


def serve(
    *,
    host: Annotated[str, arg(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, arg(metavar="N", help="the port; 0 is any that is free")] = 8000,
    weights: Annotated[tuple[str, ...], flag(WEIGHTS, "NAME_OR_PATH ...", "(all that come with the package)")] = (),
    workers: Annotated[int, arg(metavar="N", help="processes that answer")] = 1,
    batch: Annotated[int, arg(metavar="N", help="most pictures looked at at once")] = 32,
    queue: Annotated[int, arg(metavar="N", help="most pictures that wait")] = 128,
    timeout: Annotated[float, arg(metavar="S", help="seconds for one request")] = 20.0,
    threads: Annotated[int, arg(metavar="N", help=THREADS)] = 1,
    engine: Engine = "auto",
    pictures: Annotated[int, arg(metavar="N", help="most pictures in one request")] = 16,
    body: Annotated[int, arg(metavar="MIB", help="longest body of a request, in MiB")] = 20,
    log: Annotated[Literal["text", "json", "none"] | None, flag(LOG, hint="(text in a terminal, else json)")] = None,
) -> None:
    """Serve a page on which to draw and watch a trained model look, with a JSON API."""
    from stawm.serve.settings import MIB, Settings

    kind = log or ("text" if sys.stderr.isatty() else "json")
    settings = Settings(
        host, port, weights, workers, batch, queue, timeout, threads, pictures, body * MIB, kind, engine
    )
    try:
        from stawm.serve.run import run_server
    except ModuleNotFoundError as failure:
        if (failure.name or "").partition(".")[0] == "stawm":
            raise
        raise UsageError(
            f'stawm serve needs {failure.name}, which is not here; pip install "stawm[serve]"'
        ) from failure
    run_server(settings)
