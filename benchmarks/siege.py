"""A server under attack, while good clients look: are they answered, does memory stay, does it stop when told.

At the same time, against one `stawm serve` with its default settings: JPEGs whose last scan is repeated 2,000 times,
bodies and heads that come a byte a second, clients that do not read, bodies of 20 MiB full of empty objects, and the
requests of the suite's fuzzer. The attackers are one process, the good clients this one. Memory is the resident memory
(VmRSS) of the server and all processes under it, summed five times a second. SIGTERM is sent while the attack goes on.
"""

import argparse
import asyncio
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from PIL import Image

from serve import MIB, requests, times

SLOWEST, GROWTH, STOPPED = 2.0, 300 * MIB, 5.0
"""Seconds of a good look, bytes of memory more than at the start, and seconds to stop, at most."""
CLIENTS, AT_ONCE, EDGE, SCANS = 16, 8, 6300, 2000
LAST = 15.0
"""Seconds that the siege lasts at least."""
Told = Counter[str]


def post(body: bytes, more: str = "") -> bytes:
    """A request for a look, as it goes over the wire."""
    head = f"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def endless_jpeg() -> bytes:
    """A small progressive JPEG that keeps a decoder busy for a minute."""
    written = io.BytesIO()
    Image.new("L", (EDGE, EDGE), 128).save(written, "JPEG", progressive=True, quality=50)
    content = written.getvalue()
    last = content.rfind(b"\xff\xda")
    return content[:last] + content[last:-2] * SCANS + content[-2:]


async def asked(address: tuple[str, int], request: Sequence[bytes]) -> str:
    """The status of the answer to a request that comes in parts, or what came instead."""
    try:
        reader, writer = await asyncio.open_connection(*address)
        with suppress(OSError):  # An answer may come before all is sent.
            for part in request:
                writer.write(part)
                await writer.drain()
            writer.write_eof()
        told = await asyncio.wait_for(reader.read(64), 60)
        writer.close()
        return told[9:12].decode("latin-1") or "closed"
    except TimeoutError:
        return "hung"
    except OSError:
        return "reset"


async def slowly(address: tuple[str, int], start: bytes) -> str:
    """What becomes of a client that sends a byte a second."""
    try:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(start)
        while True:
            try:
                told = await asyncio.wait_for(reader.read(64), 1)
                writer.close()
                return told[9:12].decode("latin-1") or "closed"
            except TimeoutError:
                writer.write(b"x")
    except OSError:
        return "reset"


async def unread(address: tuple[str, int]) -> str:
    """What becomes of a client that asks much and does not read."""
    try:
        _, writer = await asyncio.open_connection(*address, limit=1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET /static/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        while not writer.is_closing():
            await asyncio.sleep(1)
        return "closed"
    except OSError:
        return "reset"


async def attack(address: tuple[str, int], fuzz: int, telling: Connection) -> None:
    """Attack until the other side of the pipe is closed; once all that has an end is done, tell of it."""
    told: dict[str, Told] = {}

    async def endlessly(kind: str, asking: Callable[[], Awaitable[str]]) -> None:
        while True:
            told.setdefault(kind, Counter())[await asking()] += 1

    async def each(kind: str, rest: list[list[bytes]]) -> None:
        while rest:
            told.setdefault(kind, Counter())[await asked(address, rest.pop())] += 1

    bomb = post(json.dumps({"images": [b64encode(endless_jpeg()).decode()]}).encode())
    flood = post(b'{"images":[' + b"{}," * (20 * MIB // 3 - 10) + b"{}]}")
    bodies, heads = post(b"")[:-5] + b"9999\r\n\r\n{", b"GET / HTTP/1.1\r\nX: "
    slow = [endlessly("slow bodies", lambda: slowly(address, bodies)) for _ in range(300)]
    slow += [endlessly("slow heads", lambda: slowly(address, heads)) for _ in range(300)]
    slow += [endlessly("clients that do not read", lambda: unread(address)) for _ in range(20)]
    going = [asyncio.ensure_future(one) for one in slow]
    requests = fuzzed(fuzz)
    started = time.monotonic()
    ends = [each("endless JPEGs", [[bomb]]) for _ in range(10)] + [each("20 MiB of {}", [[flood]]) for _ in range(8)]
    await asyncio.gather(*ends, *(each("of the fuzzer", requests) for _ in range(AT_ONCE)))
    await asyncio.sleep(max(0, LAST - (time.monotonic() - started)))
    telling.send(told)
    going += [asyncio.ensure_future(each("endless JPEGs", [[bomb]])) for _ in range(10)]
    while not telling.poll():
        await asyncio.sleep(0.1)


def fuzzed(count: int) -> list[list[bytes]]:
    """The requests of the suite's fuzzer, as they go over the wire."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    raw = []
    for one in import_module("fuzzed_requests").fuzzed(2026, count):
        names = {name.lower() for name, _ in one.headers}
        lines = [b" ".join((one.method.encode(), one.path.encode("utf-8", "surrogatepass"), b"HTTP/1.1"))]
        lines += [name + b": " + value for name, value in one.headers]
        if not names & {b"content-length", b"transfer-encoding"}:
            lines.append(b"content-length: %d" % sum(map(len, one.parts)))
        raw.append([b"\r\n".join(lines) + b"\r\nconnection: close\r\n\r\n", *one.parts])
    return raw


def attackers(address: tuple[str, int], fuzz: int, telling: Connection) -> None:
    """The process of the attackers."""
    asyncio.run(attack(address, fuzz, telling))


def resident(process: int) -> int:
    """Bytes of memory of a process and all under it, and how many they are."""
    total = 0
    with suppress(OSError):
        total = int(Path(f"/proc/{process}/status").read_text().split("VmRSS:")[1].split()[0]) * 1024
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(resident(int(child)) for child in (task / "children").read_text().split())
    return total


async def good(address: tuple[str, int], over: asyncio.Event, wanted: list[bytes]) -> tuple[list[float], Told]:
    """The seconds of each look of one client until all is over, and what it was refused."""
    seconds, refused = list[float](), Told()
    reader, writer = await asyncio.open_connection(*address, limit=4 * MIB)
    while not over.is_set():
        started = time.perf_counter()
        try:
            writer.write(wanted[len(seconds) % len(wanted)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None
            await reader.readexactly(int(length[1]))
            if head[9:12] != b"200":
                refused[head[9:12].decode()] += 1
        except (OSError, asyncio.IncompleteReadError):
            refused["cut off"] += 1
            reader, writer = await asyncio.open_connection(*address, limit=4 * MIB)
        seconds.append(time.perf_counter() - started)
    writer.close()
    return seconds, refused


async def siege(server: int, address: tuple[str, int], fuzz: int) -> dict[str, Any]:
    """What was seen, up to the moment at which the server is to stop."""
    wanted, over = requests(), asyncio.Event()

    async def looked(ends: Awaitable[Any]) -> tuple[list[float], Told]:
        over.clear()
        clients = [asyncio.ensure_future(good(address, over, wanted)) for _ in range(CLIENTS)]
        await ends
        over.set()
        found = await asyncio.gather(*clients)
        return [one for seconds, _ in found for one in seconds], sum((refused for _, refused in found), Told())

    calm, _ = await looked(asyncio.sleep(5))
    sizes = [resident(server)]
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=attackers, args=(address, fuzz, there), daemon=True)
    process.start()

    async def watched() -> None:
        while not here.poll() and process.is_alive():
            await asyncio.sleep(0.2)
            sizes.append(resident(server))

    seconds, refused = await looked(watched())
    return {
        "calm": times(calm),
        "looks": len(seconds),
        "refused": refused,
        "slowest": max(seconds),
        **times(seconds),
        "start": sizes[0],
        "peak": max(sizes),
        "attacks": here.recv(),
        "pipe": here,
        "process": process,
    }


def main() -> int:
    """Besiege a server and print a table; 1 if it did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzz", type=int, default=5000, help="requests of the fuzzer")
    parser.add_argument("--options", default="", help="more options of stawm serve")
    given = parser.parse_args()
    command = [sys.executable, "-m", "stawm", "serve", "--port", "0", "--log", "none", *given.options.split()]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://([\d.]+):(\d+)/", server.stdout.readline())
        assert found is not None, "the server did not start"
        seen = asyncio.run(siege(server.pid, (found[1], int(found[2])), given.fuzz))
        started = time.perf_counter()
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=120)
        stopped = time.perf_counter() - started
        seen["pipe"].send(None)
        seen["process"].join()
    finally:
        server.kill()
    for kind, told in seen["attacks"].items():
        print(f"| {kind} | {', '.join(f'{status}: {count:,}' for status, count in sorted(told.items()))} |")
    failed = sum(
        count for told in seen["attacks"].values() for status, count in told.items() if status in ("500", "hung")
    )
    calm, grown = seen["calm"], seen["peak"] - seen["start"]
    passed = [
        not seen["refused"],
        seen["slowest"] <= SLOWEST,
        grown <= GROWTH,
        stopped <= STOPPED,
        not failed,
        not errors and server.returncode == 0,
    ]
    print(f"| good looks | {seen['looks']:,}, refused {dict(seen['refused'])} |")
    print(f"| slowest | {seen['slowest']:.2f} s (at most {SLOWEST:g}) |")
    print(f"| median, 95th percentile | {seen['median_ms']:.0f}, {seen['p95_ms']:.0f} ms |")
    print(f"| the same before the siege | {calm['median_ms']:.0f}, {calm['p95_ms']:.0f} ms |")
    print(f"| memory | from {seen['start'] / MIB:.0f} to at most {seen['peak'] / MIB:.0f} MiB |")
    print(f"| stopped | {stopped:.1f} s after SIGTERM, code {server.returncode}, stderr {errors[-500:]!r} |")
    print(f"| load of the machine | {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores |")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
