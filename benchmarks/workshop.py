"""A folder with one file of each kind that stawm writes or ships, for `damage.py` to spoil."""

import contextlib
import gzip
import hashlib
import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

from PIL import Image

import stawm as package
from stawm.cli import main as stawm
from stawm.data import load_data
from stawm.data.data_set import DATA_SETS
from stawm.data.sets import mnist
from stawm.store.checkpoint import list_checkpoints
from stawm.training.fit import fit

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
