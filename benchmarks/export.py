"""Exported files of trained models beside PyTorch: largest difference of every output on real pictures, and the times.

    python benchmarks/export.py mnist-classify-8 mnist-sketchpad weights/cifar10-draw-16

Each model is written as ONNX and as a program of torch.export, read back, and shown 256 test pictures of its own data
set (noise where that is not here) in batches of 1, 3 and 256. One look is timed at batch 1 on one thread, in
turn. The exit code is 1 if a difference is above 1e-4.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import torch
from torch import Tensor

from stawm.data import load_data
from stawm.errors import StawmError
from stawm.store.portable import Portable, write_portable
from stawm.store.weights import Trained, load_trained

PICTURES, BATCHES, LIMIT = 256, (1, 3, 256), 1e-4


def pictures_of(trained: Trained, data_dir: Path | None) -> tuple[Tensor, str]:
    """Test pictures of the model's own data set, in [0, 1], and where they are from."""
    shape = trained.experiment.model.image.shape
    try:
        images = load_data(trained.experiment.data.name, data_dir=data_dir, image=shape).test.images[:PICTURES]
        return images.float() / 255, trained.experiment.data.name
    except StawmError:
        return torch.rand(PICTURES, *shape), "noise"


def session_of(path: Path) -> Callable[[Tensor], dict[str, Tensor]]:
    """The ONNX file as a function, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names = [output.name for output in session.get_outputs()]

    def run(images: Tensor) -> dict[str, Tensor]:
        found = session.run(names, {"images": images.numpy()})
        return {name: torch.from_numpy(value) for name, value in zip(names, found, strict=True)}

    return run


@torch.inference_mode()
def differences(run: Callable[[Tensor], dict[str, Tensor]], model: Portable, images: Tensor) -> dict[str, float]:
    """The largest difference of each output over all batch sizes."""
    found: dict[str, float] = {}
    for size in BATCHES:
        for batch in images[: 12 * size].split(size):
            wanted, got = model(batch), run(batch)
            assert wanted.keys() == got.keys(), (list(wanted), list(got))
            for name, value in wanted.items():
                found[name] = max(found.get(name, 0.0), float((got[name] - value).abs().max()))
    return found


@torch.inference_mode()
def one_look(ways: dict[str, Callable[[Tensor], object]], images: Tensor, rounds: int) -> dict[str, float]:
    """The median time of one look in milliseconds; the ways take turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 5):
        picture = images[number % len(images)][None]
        for name, run in ways.items():
            started = time.perf_counter()
            run(picture)
            times[name].append(1000 * (time.perf_counter() - started))
    return {name: statistics.median(values[5:]) for name, values in times.items()}


def compare(name: str, folder: Path, rounds: int, data_dir: Path | None) -> bool:
    """Whether both files of the model agree with it; a line is printed for each."""
    trained = load_trained(name)
    model, (images, source) = Portable(trained.model), pictures_of(trained, data_dir)
    write_portable(trained, "onnx", folder / "model.onnx")
    write_portable(trained, "torch", folder / "model.pt2")
    ways = {"onnx": session_of(folder / "model.onnx"), "torch": torch.export.load(folder / "model.pt2").module()}
    agreed = True
    for kind, run in ways.items():
        found = differences(run, model, images)
        agreed = agreed and max(found.values()) <= LIMIT
        told = ", ".join(f"{output} {value:.1e}" for output, value in found.items())
        size = (folder / f"model.{'onnx' if kind == 'onnx' else 'pt2'}").stat().st_size / 1e6
        print(f"{name:24} {kind:6} {size:5.1f} MB, {len(images)} pictures of {source}: {told}", flush=True)
    took = one_look({"model": model, **ways}, images, rounds)
    print(f"{name:24} one look: {', '.join(f'{way} {value:.1f} ms' for way, value in took.items())}", flush=True)
    return agreed


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names or folders of weights")
    parser.add_argument("--rounds", type=int, default=100, help="looks that are timed")
    parser.add_argument("--data-dir", type=Path, help="where data sets are that the cache folder does not have")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        agreed = [compare(name, Path(folder), options.rounds, options.data_dir) for name in options.models]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
