"""One line on stderr for each request: JSON for machines, or text for people."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

MOST = 200


@dataclass
class Entry:
    """What is told of a request; the look fills in pictures and batch."""

    method: str
    path: str
    status: int = 0
    ms: float = 0.0
    pictures: int = 0
    batch: int = 0


class Log:
    """Lines of one kind."""

    def __init__(self, kind: Literal["text", "json", "none"]) -> None:
        self.kind = kind

    def tell(self, entry: Entry) -> None:
        """Write the line; what a client wrote cannot break it (JSON escapes) or make it long."""
        if self.kind == "none":
            return
        now, path, method = datetime.now(UTC), entry.path[:MOST], entry.method[:MOST]
        if self.kind == "json":
            values = {
                "time": now.isoformat(timespec="milliseconds"),
                "method": method,
                "path": path,
                "status": entry.status,
                "ms": round(entry.ms, 1),
                "pictures": entry.pictures,
                "batch": entry.batch,
            }
            line = json.dumps(values)
        else:
            shown = json.dumps(path)[1:-1]
            plural = "s" if entry.pictures > 1 else ""
            looked = f", {entry.pictures} picture{plural} in a batch of {entry.batch}" if entry.batch else ""
            clock = now.astimezone().strftime("%H:%M:%S")
            line = f"{clock} {json.dumps(method)[1:-1]} {shown} {entry.status} {entry.ms:.0f} ms{looked}"
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
