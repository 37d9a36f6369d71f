"""What a server was asked to be, in one value that also reaches its worker processes."""

import json
import os
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from typing import Literal

from stawm.errors import UsageError

LOCAL = ("127.0.0.1", "localhost", "::1")
VARIABLE = "STAWM_SERVE"
MIB = 2**20


@dataclass(frozen=True)
class Settings:
    """Where a server listens, which models it has, and all its limits."""

    host: str = "127.0.0.1"
    port: int = 8000
    weights: tuple[str, ...] = ()
    """Names of packaged weights, or paths of runs and weights; all packaged ones if none are named."""
    workers: int = 1
    batch: int = 32
    """Most pictures that go through a model at once."""
    queue: int = 128
    """Most pictures that wait for a model."""
    timeout: float = 20.0
    """Seconds for one request."""
    threads: int = 1
    """Threads of torch in each worker; 0 shares the cores out."""
    pictures: int = 16
    """Most pictures in one request."""
    body: int = 20 * MIB
    """Most bytes in the body of a request."""
    log: Literal["text", "json", "none"] = "json"

    def __post_init__(self) -> None:
        least = {"workers": 1, "batch": 1, "queue": 1, "threads": 0, "pictures": 1, "body": 1, "port": 0}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise UsageError(f"--{name} takes a number of at least {smallest}, not {getattr(self, name)}")
        if self.port > 65535:
            raise UsageError(f"--port takes a number up to 65535, not {self.port}")
        if not 0 < self.timeout < float("inf"):
            raise UsageError(f"--timeout takes a number of seconds above 0, not {self.timeout:g}")
        if self.queue < self.pictures:
            raise UsageError(f"--queue must hold the {self.pictures} pictures of one request, and is {self.queue}")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOCAL

    @property
    def requests(self) -> int:
        """Most requests for a look that are worked on together, whatever stage they are at."""
        return self.queue + self.batch

    @property
    def held(self) -> int:
        """Most bytes of bodies in memory together."""
        return 8 * self.body

    def to_environment(self) -> None:
        """Leave these settings for `from_environment`, in this process or one that it starts."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @staticmethod
    def from_environment() -> "Settings":
        """The settings that `to_environment` left."""
        values = json.loads(os.environ[VARIABLE])
        return Settings(**values | {"weights": tuple(values["weights"])})
