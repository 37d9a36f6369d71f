"""A model as a graph for onnxruntime: made once, kept in the cache folder, and compared with the model at each start.

`onnx` computes in single precision. `int8` keeps the large weights as eight-bit numbers, a scale for each 32 of them.
At batch 1 a look reads every weight once a glimpse, and waits for memory: a graph packs the weights for that, and
eight bits are a quarter of them. Beside a graph lies its checksum: one that is damaged is said to be, and not used.
"""

import hashlib
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from stawm import __version__
from stawm.data.published import cache_folder
from stawm.errors import CheckpointError, DataError, StorageError, UsageError
from stawm.files import read_json, whole_file, write_json
from stawm.look.plan import IMAGES, Unsuited, put_together, taken_apart
from stawm.model.stawm import Episode, Stawm
from stawm.store.checkpoint import digest_of
from stawm.store.portable import needs_onnx, quiet, write_onnx
from stawm.store.weights import Trained, sha256_of

Precision = Literal["onnx", "int8"]
FORMAT = 2
"""Raised when graphs that were made before should be made again."""
TOLERANCES: dict[Precision, float] = {"onnx": 1e-3, "int8": 0.1}
"""A graph whose answers to smooth pictures differ by more, in units of the largest or of one, is not used."""
CHECKED = 2
COARSE = 4
"""Pictures to compare with are smooth, as pictures are: so many random levels to a side."""


class Flat(nn.Module):
    """A model as a plain function: images in, every tensor of the episode out, by name."""

    def __init__(self, model: Stawm) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Float[Tensor, "batch channel height width"]) -> dict[str, Tensor]:
        """The tensors of the episode."""
        known = {IMAGES: images}
        taken_apart(self.model(images), known)
        return {name: tensor for name, tensor in known.items() if name != IMAGES}


class GraphEngine:
    """A graph in onnxruntime, on as many threads as torch has now, and the plan of the episode that it gives."""

    def __init__(self, path: Path, kind: Precision, plan: Any) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
        options.log_severity_level = 3
        self.name = kind
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._plan = plan

    def __call__(self, images: Float[Tensor, "batch channel height width"]) -> Episode:
        """The episode, on the CPU."""
        images = images.cpu()
        found = self._session.run(self._outputs, {IMAGES: images.numpy()})
        parts = {name: torch.from_numpy(value) for name, value in zip(self._outputs, found, strict=True)}
        return put_together(self._plan, parts | {IMAGES: images})


def open_graph_engine(trained: Trained, kind: Precision, tell: Callable[[str], None]) -> GraphEngine:
    """The engine of this kind; its graph is made where there is none yet, which takes a while and is told."""
    if found := find_graph_engine(trained, kind):
        return found
    needs_onnx()
    tell(f"making the graph of {trained.experiment.name} for onnxruntime (once, half a minute)")
    try:
        path = graph_path(trained, kind)
        with whole_file(path) as partial:
            engine, sum_of_it = _made(trained, kind, partial), sha256_of(partial)
        write_json(_checksum_of(path), {"sha256": sum_of_it})
        return engine
    except (DataError, StorageError):  # No place to keep it: it is made at each start.
        with TemporaryDirectory() as folder:
            return _made(trained, kind, Path(folder) / "graph.onnx")


def find_graph_engine(trained: Trained, kind: Precision) -> GraphEngine | None:
    """The engine of a graph that was made before and still answers as the model does; else none."""
    try:
        import onnxruntime  # noqa: F401

        path = graph_path(trained, kind)
        return _compared(trained, kind, path) if _is_whole(path) else None
    except (ImportError, DataError, CheckpointError, UsageError):
        return None


def graph_path(trained: Trained, kind: Precision) -> Path:
    """Where the graph of these weights is kept; another version of anything that makes it has another name."""
    about = (FORMAT, __version__, torch.__version__, repr(trained.experiment.model), kind)
    weights = digest_of(trained.model.state_dict())
    name = hashlib.sha256(repr((*about, weights)).encode()).hexdigest()[:32]
    return cache_folder() / "graphs" / f"{name}.onnx"


def _checksum_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _is_whole(path: Path) -> bool:
    """Whether there is a graph that is as it was written; of one that is damaged a line tells."""
    if not path.exists():
        return False
    try:
        if read_json(_checksum_of(path))["sha256"] == sha256_of(path):
            return True
    except (OSError, ValueError, KeyError):
        pass
    logging.getLogger(__name__).warning("%s is damaged; it is not used", path)
    return False


def _made(trained: Trained, kind: Precision, path: Path) -> GraphEngine:
    if kind == "int8":
        from stawm.look.eight_bits import to_eight_bits

        try:
            known = graph_path(trained, "onnx")
            whole = _is_whole(known) and bool(shutil.copyfile(known, path))  # Its weights are rounded, the rest stays.
        except (OSError, DataError):
            whole = False
        if not whole:
            _write(trained, path)
        to_eight_bits(path)
    else:
        _write(trained, path)
    return _compared(trained, kind, path)


def _write(trained: Trained, path: Path) -> None:
    assert isinstance(trained.model, Stawm)
    try:
        with torch.no_grad(), quiet():
            write_onnx(Flat(trained.model), smooth_pictures(trained, CHECKED + 1), {}, path)
    except Unsuited as failure:
        raise _cannot(trained, str(failure)) from failure
    except Exception as failure:  # The exporter has many kinds of its own.
        raise _cannot(trained, f"{type(failure).__name__} in the exporter") from failure


def _compared(trained: Trained, kind: Precision, path: Path) -> GraphEngine:
    """The engine of the graph at `path`, once it has answered as the model does."""
    assert isinstance(trained.model, Stawm)
    images, known = smooth_pictures(trained, CHECKED), {}
    with torch.inference_mode():
        known[IMAGES] = images
        try:
            plan = taken_apart(trained.model(images.to(next(trained.model.parameters()).device)), known)
        except Unsuited as failure:
            raise _cannot(trained, str(failure)) from failure
        try:
            engine = GraphEngine(path, kind, plan)
            found: dict[str, Tensor] = {}
            taken_apart(engine(images), found)
        except Exception as failure:  # Damaged, or of a version of onnxruntime that lacks something.
            raise _cannot(trained, " ".join(str(failure).split())[:200]) from failure
    for name, wanted in known.items():
        scale = max(1.0, float(wanted.abs().max())) if wanted.numel() else 1.0
        if name != IMAGES and not bool(((found[name] - wanted.cpu()).abs() <= TOLERANCES[kind] * scale).all()):
            raise CheckpointError(
                f"the graph of {trained.experiment.name} differs from the model ({name}); use --engine torch"
            )
    return engine


def smooth_pictures(trained: Trained, count: int) -> Float[Tensor, "batch channel height width"]:
    """Pictures to compare with, the same ones each time."""
    channels, height, width = trained.experiment.model.image.shape
    levels = torch.rand(count, channels, COARSE, COARSE, generator=torch.Generator().manual_seed(0))
    return F.interpolate(levels, (height, width), mode="bilinear", align_corners=True)


def _cannot(trained: Trained, why: str) -> UsageError:
    return UsageError(f"{trained.experiment.name} cannot be run by onnxruntime ({why}); use --engine torch")
