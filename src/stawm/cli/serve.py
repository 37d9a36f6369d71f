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

from stawm.cli.options import Number, flag
from stawm.errors import UsageError


def serve(
    *,
    host: str = "127.0.0.1",
    port: Number = 8000,
    weights: Annotated[tuple[str, ...], flag("NAME_OR_PATH ...", "(all that come with the package)")] = (),
    workers: Number = 1,
    batch: Number = 32,
    queue: Number = 128,
    timeout: Annotated[float, arg(metavar="S")] = 20.0,
    threads: Number = 1,
    pictures: Number = 16,
    body: Annotated[int, arg(metavar="MIB")] = 20,
    log: Annotated[Literal["text", "json", "none"] | None, flag(hint="(text in a terminal, else json)")] = None,
) -> None:
    """Serve a page on which to draw and watch a trained model look, with a JSON API.

    Args:
        host: the address to listen on
        port: the port; 0 is any that is free
        weights: names or folders of weights; the first is the default
        workers: processes that answer
        batch: most pictures looked at at once
        queue: most pictures that wait
        timeout: seconds for one request
        threads: threads of torch in each worker; 0 is all cores, shared out: slower for models of this size
        pictures: most pictures in one request
        body: longest body of a request, in MiB
        log: a line on stderr for each request
    """
    from stawm.serve.settings import MIB, Settings

    kind = log or ("text" if sys.stderr.isatty() else "json")
    settings = Settings(host, port, weights, workers, batch, queue, timeout, threads, pictures, body * MIB, kind)
    try:
        from stawm.serve.run import run_server
    except ModuleNotFoundError as failure:
        if (failure.name or "").partition(".")[0] == "stawm":
            raise
        raise UsageError(
            f'stawm serve needs {failure.name}, which is not here; pip install "stawm[serve]"'
        ) from failure
    run_server(settings)
