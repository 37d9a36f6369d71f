"""One line on stderr for each request: JSON for machines, or text for people."""

import json
import sys
from datetime import UTC, datetime
from typing import Literal

MOST = 200


def tell(
    kind: Literal["text", "json", "none"],
    *,
    method: str,
    path: str,
    status: int,
    ms: float,
    pictures: int = 0,
    batch: int = 0,
) -> None:
    """Write the line; what a client wrote cannot break it (JSON escapes) or make it long."""
    if kind == "none":
        return
    now, method, path = datetime.now(UTC), method[:MOST], path[:MOST]
    if kind == "json":
        request = {"method": method, "path": path, "status": status, "ms": round(ms, 1)}
        looked = {"pictures": pictures, "batch": batch}
        line = json.dumps({"time": now.isoformat(timespec="milliseconds"), **request, **looked})
    else:
        plural = "s" if pictures > 1 else ""
        more = f", {pictures} picture{plural} in a batch of {batch}" if batch else ""
        clock = now.astimezone().strftime("%H:%M:%S")
        line = f"{clock} {json.dumps(method)[1:-1]} {json.dumps(path)[1:-1]} {status} {ms:.0f} ms{more}"
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
