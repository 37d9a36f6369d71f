"""What becomes of damage: files of every kind that stawm writes or ships are spoilt at random, and then read.

Each damage is one flipped bit, eight of them, a cut, an emptied file, two exchanged stretches, a stretch of zeros, or
the same file of another run. It is *found* (one line on stderr, and an exit code or the result of whole files),
*harmless* (nothing is said, and the result is the same to the last bit), *used* (the result differs and nothing is
said) or a *traceback*. There must be none of the last two, else the exit code is 1.

    python benchmarks/damage.py
    python benchmarks/damage.py --each 100 --seed 1 --verbose
"""

import argparse
import contextlib
import io
import json
import logging
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spoil import DAMAGES, flip
from stawm.data import load_data
from stawm.data.sets import mnist
from workshop import NAME, PRESET, PUBLISHED, Workshop

HARMLESS, FOUND, USED, TRACEBACK = VERDICTS = ("harmless", "found", "used", "traceback")
"""From the best to the worst."""
DIED = 5
"""The exit code of a grid in which a cell failed; which one, and why, is in its table."""

Outcome = Any


@dataclass(frozen=True)
class Kind:
    """A kind of file: where such files lie in the workshop, who reads them, and the same file of another run."""

    files: tuple[str, ...]
    readers: tuple[Callable[[Workshop], Outcome], ...]
    twin: str = ""


def resumed(name: str) -> Callable[[Workshop], Outcome]:
    """A reader: what comes of a run that is resumed."""

    def read(shop: Workshop) -> Outcome:
        run = shop.work / name
        shop.call("train", PRESET, "--run", run, "--resume", "--device", "cpu")
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        timeless = [{key: value for key, value in line.items() if key != "timing"} for line in lines]
        return (run / "weights" / "model.safetensors").read_bytes(), timeless

    return read


def evaluated(name: str) -> Callable[[Workshop], Outcome]:
    """A reader: what a model answers to the held-out pictures."""
    return lambda shop: shop.call("evaluate", shop.work / name, "--json", "--device", "cpu")


def looked(name: str) -> Callable[[Workshop], Outcome]:
    """A reader: what a model says of each picture, by a graph where there is one."""
    return lambda shop: shop.call("look", shop.pictures, "--weights", shop.work / name, "--engine", "auto", "--json")


def gridded(name: str) -> Callable[[Workshop], Outcome]:
    """A reader: what the table of a grid says, after the cells that are left were run."""

    def read(shop: Workshop) -> Outcome:
        told = json.loads(shop.call("compare", "--out", shop.work / name, "--json", failing=DIED))
        for why in (cell["why"] for cell in told["cells"] if cell["state"] == "failed"):
            print(f"stawm: {why}", file=sys.stderr)
        return timeless(told)

    return read


def timeless(told: Any) -> Any:
    """What was told, without what differs from one run to the next."""
    if isinstance(told, dict):
        return {key: timeless(value) for key, value in told.items() if key not in ("seconds", "machine", "out")}
    return [timeless(value) for value in told] if isinstance(told, list) else told


def plotted(shop: Workshop) -> Outcome:
    """The plot of a grid of the ledger."""
    shop.call("figure", "compare", shop.ledger / "compare" / "grid.json", "--out", shop.work / "grid.png")
    return (shop.work / "grid.png").read_bytes()


def tabled(shop: Workshop) -> Outcome:
    """What the table says of a run."""
    return shop.call("table", shop.work / "run", "--format", "json")


def recorded(shop: Workshop) -> Outcome:
    """The entry of a run in a new ledger."""
    shop.call("record", shop.work / "run", "--chosen-by", "nothing", "--ledger", shop.work / "new", "--name", "new")
    return (shop.work / "new" / "new.json").read_bytes()


def listed(shop: Workshop) -> Outcome:
    """What the table of the ledger says."""
    return shop.call("table", "--ledger", shop.ledger)


def carded(shop: Workshop) -> Outcome:
    """The card of the shipped weights, written anew."""
    shop.call("ship", "--cards", "--home", shop.home, "--ledger", shop.ledger)
    return (shop.home / NAME / "CARD.md").read_bytes()


def pixels(name: str, data_dir: str = "") -> Callable[[Workshop], Outcome]:
    """A reader: the pictures of a data set."""

    def read(shop: Workshop) -> Outcome:
        mnist.FILE = shop.work / "embedded.npz"
        where = ["--data-dir", shop.work / data_dir] if data_dir else []
        shop.call("data", "get", name or shop.folder, *where)
        found = load_data(name or shop.folder, data_dir=shop.work / data_dir if data_dir else None)
        labels = [part.labels.tolist() if part.labels is not None else None for part in (found.train, found.test)]
        return found.train.images.numpy().tobytes(), found.test.images.numpy().tobytes(), labels

    return read


KINDS = {
    "checkpoint": Kind(("cut/checkpoints/*.safetensors",), (resumed("cut"), evaluated("cut")), "twin/checkpoints"),
    "experiment.json": Kind(("cut/experiment.json", "young/experiment.json"), (resumed("cut"), resumed("young"))),
    "metrics.jsonl, finished": Kind(("run/metrics.jsonl",), (tabled, recorded), "twin"),
    "metrics.jsonl, resumed": Kind(("cut/metrics.jsonl",), (resumed("cut"),), "twin"),
    "sessions.jsonl": Kind(("run/sessions.jsonl",), (recorded, resumed("run"))),
    "weights, model.safetensors": Kind(("run/weights/model.safetensors",), (evaluated("run"),), "twin/weights"),
    "weights, config.json": Kind(("run/weights/config.json",), (evaluated("run"), recorded), "twin/weights"),
    "shipped model.safetensors": Kind((f"home/{NAME}/model.safetensors",), (evaluated(f"home/{NAME}"),), "run/weights"),
    "shipped config.json": Kind((f"home/{NAME}/config.json",), (evaluated(f"home/{NAME}"), carded), "run/weights"),
    "manifest.json": Kind(("home/manifest.json",), (evaluated(f"home/{NAME}"), carded)),
    "CARD.md": Kind((f"home/{NAME}/CARD.md",), (evaluated(f"home/{NAME}"), carded)),
    "ledger entry": Kind((f"ledger/{NAME}.json",), (listed, carded)),
    "picture cache, .npy": Kind(("cache/pictures/*.npy",), (evaluated("run"), pixels(""))),
    "picture cache, .json": Kind(("cache/pictures/*.json",), (evaluated("run"), pixels(""))),
    "embedded digits, .npz": Kind(("embedded.npz",), (pixels("mnist-5k"),)),
    "published files": Kind((f"cache/{PUBLISHED}/*",), (pixels(PUBLISHED),)),
    "published files, .gz": Kind((f"packed/{PUBLISHED}/*",), (pixels(PUBLISHED, "packed"),)),
    "trust.safetensors": Kind(("trusted/trust.safetensors",), (looked("trusted"),), "others"),
    "graph for onnxruntime": Kind(("cache/graphs/*.onnx", "cache/graphs/*.json"), (looked("run"),)),
    "grid, compare.json": Kind(("grid/compare.json",), (gridded("grid"),)),
    "grid, outcome.json": Kind(("grid/cells/*/outcome.json",), (gridded("grid"),)),
    "grid, recall.safetensors": Kind(("begun/cells/*/recall.safetensors",), (gridded("begun"),)),
    "ledger, grid": Kind(("ledger/compare/*.json",), (plotted,)),
    "tensorboard, lock": Kind(("cut/tensorboard/*", "cut/.lock"), (resumed("cut"), evaluated("cut"))),
}


@dataclass(frozen=True)
class Seen:
    """What became of one reading: the exit code, what was said on stderr, and what came of it."""

    code: int
    told: str
    outcome: Outcome = None
    fault: str = ""


def look(shop: Workshop, reader: Callable[[Workshop], Outcome]) -> Seen:
    """What becomes of the files in the workshop when they are read."""
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    handler.setFormatter(logging.Formatter("stawm: %(message)s"))
    logging.getLogger("stawm").addHandler(handler)
    with contextlib.redirect_stderr(told):
        try:
            outcome = reader(shop)
            return Seen(0, told.getvalue(), outcome)
        except SystemExit as left:
            return Seen(int(left.code or 0), told.getvalue())
        except Exception:
            return Seen(1, told.getvalue(), fault=traceback.format_exc())
        finally:
            logging.getLogger("stawm").removeHandler(handler)


def judged(seen: Seen, whole: Seen) -> str:
    """The verdict on one reading of spoilt files, beside the reading of whole ones."""
    lines = [line for line in seen.told.splitlines() if line not in whole.told.splitlines()]
    if seen.fault or "Traceback" in seen.told or (seen.code and len(lines) != 1):
        return TRACEBACK
    if seen.code or any(line.startswith("stawm: ") for line in lines):
        return FOUND
    return HARMLESS if seen.outcome == whole.outcome else USED


def spoilt(shop: Workshop, kind: Kind, damage: str, chance: random.Random) -> tuple[Path, bytes]:
    """A file of a kind in the workshop, and what it holds after a damage, which is never what it held before."""
    shop.restore()
    path = chance.choice([path for pattern in kind.files for path in sorted(shop.work.glob(pattern))])
    before = after = path.read_bytes()
    if damage == "of another run":
        twin = shop.work / kind.twin / path.name
        after = (twin if twin.exists() else sorted(twin.parent.glob("*"))[-1]).read_bytes()
    while after == before and before:
        after = DAMAGES.get(damage, flip)(before, chance)
    return path, after


def campaign(shop: Workshop, each: int, seed: int = 0, verbose: bool = False) -> Iterator[tuple[str, Counter[str]]]:
    """For each kind of file how often damage met each verdict, over `each` damages; the worst of its readers counts."""
    for name, kind in KINDS.items():
        whole: list[Seen] = []
        for reader in kind.readers:
            shop.restore()
            whole.append(look(shop, reader))
            assert whole[-1].code == 0, f"{name}: {whole[-1]}"
        chance, counts = random.Random(f"{seed} {name}"), Counter[str]()
        ways = [*DAMAGES, *(["of another run"] if kind.twin else [])]
        for number in range(each):
            path, content = spoilt(shop, kind, ways[number % len(ways)], chance)
            verdicts: list[str] = []
            for reader, before in zip(kind.readers, whole, strict=True):
                shop.restore()
                path.write_bytes(content)
                seen = look(shop, reader)
                verdicts.append(judged(seen, before))
                if verbose or verdicts[-1] in (USED, TRACEBACK):
                    what = f"{path.relative_to(shop.work)}, {ways[number % len(ways)]}"
                    print(f"{verdicts[-1]:10}{what}: {seen.told.strip()[-300:]} {seen.fault}", flush=True)
            counts[max(verdicts, key=VERDICTS.index)] += 1
        yield name, counts


def main() -> int:
    """The exit code, after the table was printed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--each", type=int, default=28, help="damages for each kind of file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="tell of every damage what was said")
    given = parser.parse_args()
    logging.getLogger("lightning").setLevel(logging.ERROR)
    started = time.perf_counter()
    total = Counter[str]()

    def row(name: str, cells: Iterable[object]) -> None:
        print(f"| {name:28} |{''.join(f' {cell:>9} |' for cell in cells)}", flush=True)

    row("file", VERDICTS)
    with tempfile.TemporaryDirectory(prefix="stawm-damage-") as place:
        for name, counts in campaign(Workshop(Path(place)), given.each, given.seed, given.verbose):
            total += counts
            row(name, (counts[verdict] for verdict in VERDICTS))
    row("all", (total[verdict] for verdict in VERDICTS))
    print(f"{total.total():,} damages, seed {given.seed}, {time.perf_counter() - started:.0f} s")
    return 1 if total[USED] or total[TRACEBACK] else 0


if __name__ == "__main__":
    sys.exit(main())
