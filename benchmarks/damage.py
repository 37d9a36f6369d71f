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
import gzip
import hashlib
import io
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

import stawm as package
from spoil import DAMAGES, flip
from stawm.cli import main as stawm
from stawm.data import load_data
from stawm.data.data_set import DATA_SETS
from stawm.data.sets import mnist
from stawm.store.checkpoint import list_checkpoints
from stawm.training.fit import fit

HARMLESS, FOUND, USED, TRACEBACK = VERDICTS = ("harmless", "found", "used", "traceback")
"""From the best to the worst."""
PRESET = "mnist-5k-classify"
SMALL = [
    *["--model.memory.size", "12", "--model.glimpses", "2"],
    *["--model.context.filters", "4", "4", "--model.context.strides", "3", "2", "--model.glimpse.filters", "4", "4"],
    *["--training.batch-size", "8", "--training.epochs", "2", "--training.checkpoint-every", "1", "--device", "cpu"],
]
GRID = [
    *["--pairs", "2", "--sizes", "8", "--rules", "hebb-rosenblatt", "--seeds", "0"],
    *["--steps", "20", "--checkpoint-every", "10", "--test-sequences", "50", "--keys", "8", "--values", "8"],
]
SHIPPED = Path(package.__file__).parent / "weights"
PUBLISHED = "damage-idx"
NAME = "tiny"
DIED = 5
"""The exit code of a grid in which a cell failed; which one, and why, is in its table."""

Outcome = Any


@dataclass(frozen=True)
class Kind:
    """A kind of file: where such files lie in the workshop, who reads them, and the same file of another run."""

    files: tuple[str, ...]
    readers: tuple[Callable[["Workshop"], Outcome], ...]
    twin: str = ""


class Workshop:
    """A folder with one file of each kind, whole; `work` is a copy to be spoilt."""

    def __init__(self, place: Path, *, twin: bool = True) -> None:
        """Train, ship and record a small model on 24 digits, and train another one with another seed."""
        self.whole, self.work, self.pictures = place / "whole", place / "work", place / "pictures"
        os.environ["STAWM_CACHE"] = str(self.work / "cache")
        self._write_pictures()
        self._add_published()
        for seed, name in enumerate(("run", "twin")[: 2 if twin else 1]):
            run = self.work / name
            self.call("train", PRESET, *SMALL, "--seed", seed, "--run", run, "--data.name", self.folder)
        self._stop_early("cut", after=1)
        self._stop_early("young", after=0)
        self.call("record", self.work / "run", "--name", NAME, "--chosen-by", "nothing", "--ledger", self.ledger)
        self.call("ship", self.work / "run", NAME, "--home", self.home, "--ledger", self.ledger)
        (self.work / "embedded.npz").write_bytes(mnist.FILE.read_bytes())
        if twin:
            self._add_grid()
            self._add_trusted()
        shutil.copytree(self.work, self.whole)

    @property
    def ledger(self) -> Path:
        """The ledger in the workshop."""
        return self.work / "ledger"

    @property
    def home(self) -> Path:
        """The home of shipped weights."""
        return self.work / "home"

    @property
    def folder(self) -> str:
        """The pictures as a data set."""
        return f"folder:{self.pictures}"

    def call(self, *arguments: object, failing: int = 0) -> str:
        """What a command prints; one that fails, but for the exit code `failing`, is a `SystemExit`."""
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            code = stawm([str(argument) for argument in arguments])
        if code not in (0, failing):
            raise SystemExit(code)
        return told.getvalue()

    def restore(self) -> None:
        """Make the copy whole again."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.whole, self.work)

    def _write_pictures(self) -> None:
        digits = load_data("mnist-5k").test
        assert digits.labels is not None
        for label in range(2):
            (self.pictures / str(label)).mkdir(parents=True)
            for place in (digits.labels == label).nonzero()[:12, 0].tolist():
                Image.fromarray(digits.images[place, 0].numpy()).save(self.pictures / str(label) / f"{place}.png")

    def _stop_early(self, name: str, after: int) -> None:
        """A run that was stopped after so many epochs (none: before its first checkpoint)."""
        shutil.copytree(self.work / "run", self.work / name)
        for old in (*list_checkpoints(self.work / name), self.work / name / "metrics.jsonl"):
            old.unlink()
        shutil.rmtree(self.work / name / "weights")
        for _ in range(after):
            records = fit(None, self.work / name, resume=True)
            next(records)
            records.close()

    def _add_grid(self) -> None:
        """A grid of one cell, entered into the ledger, and the same grid whose cell was stopped half-way."""
        self.call("compare", "recall", *GRID, "--out", self.work / "grid")
        self.call("compare", "--out", self.work / "grid", "--record", "--ledger", self.ledger)
        shutil.copytree(self.work / "grid", self.work / "begun")
        for outcome in self.work.glob("begun/cells/*/outcome.json"):
            outcome.unlink()

    def _add_trusted(self) -> None:
        """Shipped weights that are calibrated, the calibration of others, and a graph of the run for onnxruntime."""
        for name, folder in (("mnist-5k-sketchpad", "trusted"), ("mnist-sketchpad", "others")):
            shutil.copytree(SHIPPED / name, self.work / folder)
        self.call("look", self.pictures, "--weights", self.work / "run", "--engine", "onnx", "--json")

    def _add_published(self) -> None:
        """A published set of 16 digits in the format of MNIST, in the cache as it is and packed elsewhere."""
        digits, folder, packed = load_data("mnist-5k").test, self.work / "cache" / PUBLISHED, self.work / "packed"
        for place in (folder, packed / PUBLISHED):
            place.mkdir(parents=True)
        sums: dict[str, str] = {}
        for name in mnist.IDX_FILES:
            array = digits.images[:16, 0].numpy() if "images" in name else digits.labels[:16].byte().numpy()  # pyright: ignore
            lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
            content = bytes([0, 0, mnist.UBYTE, array.ndim]) + lengths + array.tobytes()
            (folder / name).write_bytes(content)
            (packed / PUBLISHED / f"{name}.gz").write_bytes(gzip.compress(content))
            sums[name] = hashlib.md5(content).hexdigest()
        nowhere = replace(mnist.MNIST.package, spec="no-such-package-of-digits@0")
        published = replace(mnist.MNIST, name=PUBLISHED, files=sums, downloads=(), sites=(), package=nowhere)
        DATA_SETS._things[PUBLISHED] = published


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
