"""A server under load: latency of a look, throughput with several clients, memory over many requests, batching or not.

The server is `stawm serve` in a process of its own; this process is the clients, on connections that stay open, one
request at a time on each. Every request is one embedded digit, as the page sends it. Batching is measured against
`--batch 1`, with both servers running and taking turns, so that a busy machine disturbs both alike.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stawm.data import load_data
from stawm.look.picture import Picture

PARTS = ("latency", "throughput", "memory", "batching")
MARKS = (0, 1_000, 5_000, 10_000, 20_000)
LEAST = 2.0
"""How many times the throughput of 16 clients must be of that without batching."""
GROWTH = 1.05
"""How many times its size after 1,000 requests a server may be after the last."""
TOGETHER = 16
KINDS = 64
MIB = 2**20


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    host: str
    port: int
    process: int

    def resident(self) -> int:
        """Bytes of memory that it has now."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024


@contextmanager
def serving(options: Sequence[str]) -> Iterator[Running]:
    """A server of its own process, which is stopped at the end."""
    command = [sys.executable, "-m", "stawm", "serve", "--port", "0", "--log", "none", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)/", line)
        if found is None:
            raise SystemExit("the server did not start; its message is above")
        yield Running(found[1], int(found[2]), process.pid)
    finally:
        process.terminate()
        process.wait()


def requests() -> list[bytes]:
    """Requests for looks at different digits, as they go over the wire."""
    digits = load_data("mnist-5k").test.images
    made = []
    for digit in digits[:KINDS]:
        body = json.dumps({"images": [Picture(digit[0].numpy()).url()]}).encode()
        about = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        made.append(f"POST /api/look HTTP/1.1\r\n{about}\r\n\r\n".encode() + body)
    return made


async def client(server: Running, asked: Sequence[bytes], turns: Iterator[int], until: float) -> list[float]:
    """The seconds of each answer, for as many turns as there are, or until that time."""
    reader, writer = await asyncio.open_connection(server.host, server.port, limit=MIB)
    seconds: list[float] = []
    for turn in turns:
        started = time.perf_counter()
        if started > until:
            break
        writer.write(asked[turn % len(asked)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        body = await reader.readexactly(int(length[1]))
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"the server answered {head.split(b' ', 2)[1].decode()}: {body.decode()}")
        seconds.append(time.perf_counter() - started)
    writer.close()
    return seconds


def load(
    server: Running, clients: int, count: int = sys.maxsize, seconds: float = float("inf")
) -> tuple[list[float], float]:
    """The seconds of each of `count` answers (or of those within `seconds`) to so many clients, and all of the time."""

    async def together() -> list[list[float]]:
        turns, until = iter(range(count)), time.perf_counter() + seconds
        return await asyncio.gather(*(client(server, asked, turns, until) for _ in range(clients)))

    asked = requests()
    started = time.perf_counter()
    answers = asyncio.run(together())
    return [one for some in answers for one in some], time.perf_counter() - started


def times(answers: list[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(answers)
    percentile = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return {"median_ms": 1000 * statistics.median(ordered), "p95_ms": 1000 * percentile}


def latency(given: argparse.Namespace) -> dict[str, Any]:
    """One client, one look at a time."""
    with serving(given.options) as server:
        load(server, 1, 20)
        answers, _ = load(server, 1, given.looks)
    return {"looks": len(answers), **times(answers)}


def throughput(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Answers a second, with each number of clients in turn."""
    rows = []
    with serving(given.options) as server:
        load(server, TOGETHER, 64)
        for clients in given.clients:
            answers, seconds = load(server, clients, seconds=given.seconds)
            rows.append({"clients": clients, "looks_per_second": len(answers) / seconds, **times(answers)})
    return rows


def memory(given: argparse.Namespace) -> dict[str, Any]:
    """The size of the server after so many requests of 16 clients."""
    sizes: dict[int, int] = {}
    with serving(given.options) as server:
        done = 0
        for mark in [*(mark for mark in MARKS if mark < given.requests), given.requests]:
            if mark > done:
                load(server, TOGETHER, mark - done)
                done = mark
            sizes[mark] = server.resident()
    settled = sizes[min((mark for mark in sizes if mark >= 1000), default=given.requests)]
    return {"resident_mib": {mark: size / MIB for mark, size in sizes.items()}, "grew": sizes[done] / settled}


def batching(given: argparse.Namespace) -> dict[str, Any]:
    """Answers a second to 16 clients, batched and one by one, in turns."""
    rates: dict[str, list[float]] = {"batched": [], "single": []}
    with serving(given.options) as batched, serving([*given.options, "--batch", "1"]) as single:
        servers = {"batched": batched, "single": single}
        for server in servers.values():
            load(server, TOGETHER, 64)
        for _ in range(given.rounds):
            for name, server in servers.items():
                answers, seconds = load(server, TOGETHER, seconds=given.seconds)
                rates[name].append(len(answers) / seconds)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    return {"clients": TOGETHER, "looks_per_second": middle, "ratio": middle["batched"] / middle["single"]}


def tell(part: str, found: Any) -> None:
    """Print one part for people."""
    if part == "latency":
        print(
            f"one look: median {found['median_ms']:.1f} ms, 95th percentile {found['p95_ms']:.1f} ms ({found['looks']})"
        )
    elif part == "throughput":
        for row in found:
            rate = f"{row['looks_per_second']:7.1f} looks/s"
            print(f"{row['clients']:3} clients: {rate}, median {row['median_ms']:.1f} ms, p95 {row['p95_ms']:.1f} ms")
    elif part == "memory":
        for mark, size in found["resident_mib"].items():
            print(f"after {mark:6,} requests: {size:7.1f} MiB")
        print(f"grew to {found['grew']:.3f} times its size after 1,000 (at most {GROWTH})")
    else:
        rates = found["looks_per_second"]
        print(f"{found['clients']} clients: {rates['batched']:.1f} looks/s batched, {rates['single']:.1f} one by one")
        print(f"batching is {found['ratio']:.2f} times as fast (at least {LEAST})")


def main() -> int:
    """Measure and print; 1 if batching gains too little or memory grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--weights", help="a name or a folder (the default of the server)")
    parser.add_argument("--engine", default="torch", help="what runs the model in the server (torch)")
    parser.add_argument("--threads", type=int, default=1, help="of torch in the server (1)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server; not for --parts memory (1)")
    parser.add_argument("--looks", type=int, default=500, help="for the latency")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64], help="for the throughput")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=3, help="of batching against none")
    parser.add_argument("--requests", type=int, default=MARKS[-1], help="for the memory")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    given.options = ["--threads", str(given.threads), "--engine", given.engine, "--workers", str(given.workers)]
    given.options += ["--weights", given.weights] if given.weights else []
    measure = {"latency": latency, "throughput": throughput, "memory": memory, "batching": batching}
    found: dict[str, Any] = {}
    for part in given.parts:
        found[part] = measure[part](given)
        if not given.json:
            tell(part, found[part])
    if given.json:
        print(json.dumps(found))
    slow = "batching" in found and found["batching"]["ratio"] < LEAST
    grown = "memory" in found and found["memory"]["grew"] > GROWTH
    return int(slow or grown)


if __name__ == "__main__":
    sys.exit(main())
