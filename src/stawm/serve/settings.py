"""What a server was asked to be, in one value that also reaches its worker processes."""

import json
import os
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from typing import Annotated, Literal

from stawm.errors import UsageError
from stawm.look.engine import Kind
from stawm.ranges import ABOVE_0, AT_LEAST_0, AT_LEAST_1, Range, check_ranges

LOCAL = ("127.0.0.1", "localhost", "::1")
VARIABLE = "STAWM_SERVE"
MIB = 2**20


@dataclass(frozen=True)
class Settings:
    """Where a server listens, which models it has, and all its limits."""

    host: str = "127.0.0.1"
    port: Annotated[int, Range(high=65535)] = 8000
    weights: tuple[str, ...] = ()
    """Names of packaged weights, or paths of runs and weights; all packaged ones if none are named."""
    workers: Annotated[int, AT_LEAST_1] = 1
    batch: Annotated[int, AT_LEAST_1] = 32
    """Most pictures that go through a model at once."""
    queue: Annotated[int, AT_LEAST_1] = 128
    """Most pictures that wait for a model."""
    timeout: Annotated[float, ABOVE_0] = 20.0
    """Seconds for one request."""
    threads: Annotated[int, AT_LEAST_0] = 1
    """Threads of torch in each worker; 0 shares the cores out."""
    pictures: Annotated[int, AT_LEAST_1] = 16
    """Most pictures in one request."""
    body: Annotated[int, AT_LEAST_1] = 20 * MIB
    """Most bytes in the body of a request."""
    log: Literal["text", "json", "none"] = "json"
    engine: Kind = "auto"
    """What runs the models."""

    def __post_init__(self) -> None:
        check_ranges(self, "--")
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
        """Most requests for a look that are worked on together, once their bodies have arrived."""
        return self.queue + self.batch

    @property
    def held(self) -> int:
        """Most bytes of bodies that arrive, and of large ones that wait, together."""
        return 4 * self.body

    @property
    def marks(self) -> int:
        """Most commas and opening brackets in the body of a request; each value of JSON but the first has one.

        A request needs a few for each picture, and names may have some.
        """
        return 1024 + 64 * self.pictures

    def to_environment(self) -> None:
        """Leave these settings for `from_environment`, in this process or one that it starts."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @staticmethod
    def from_environment() -> "Settings":
        """The settings that `to_environment` left."""
        values = json.loads(os.environ[VARIABLE])
        return Settings(**values | {"weights": tuple(values["weights"])})
