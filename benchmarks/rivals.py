"""What one look costs: GFLOP and parameters of every rival beside the presets of STAWM for the same pictures.

    python benchmarks/rivals.py
    python benchmarks/rivals.py --presets mnist-cluttered-60 cnn-cluttered-60 --seconds 5

GFLOP are those of products and convolutions, counted by torch for one picture at evaluation: two for each
multiplication and addition; sampling, exponentials, norms and activations are not counted. Those of DRAW are of two
drawings, of means and of samples, as evaluation makes them. With --seconds, the time of a look is measured too, the
models taking turns, and told as a ratio to the first: absolute times say little on a shared machine.
"""

import argparse
import time

import torch

from stawm.experiments.build import Model, build
from stawm.experiments.describe import parameters
from stawm.experiments.presets import PRESETS, preset
from stawm.measure.flops import flops_of

KIN = ("mnist-cluttered-60", "mnist-cluttered-100", "mnist-draw-8")
"""Presets of STAWM that the rivals stand beside."""
BATCH = 16


def main() -> None:
    """Print a line for each preset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rivals = [name for name, known in PRESETS.items() if known.model.kind not in ("stawm", "vae")]
    parser.add_argument("--presets", nargs="+", default=[*(name for name in KIN if name in PRESETS), *rivals])
    parser.add_argument("--seconds", type=float, default=0.0, help="to measure times for, of each model")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    models = {name: build(preset(name).model).eval() for name in given.presets}
    ratios = times(models, given.seconds) if given.seconds else {}
    print(f"{'preset':26}{'kind':13}{'pictures':>10}{'glimpses':>10}{'parameters':>13}{'GFLOP a look':>14}  time")
    for name, model in models.items():
        config = preset(name).model
        side = f"{config.image.height}×{config.image.width}"
        looked = getattr(model(pictures(name, 1)), "poses", None)
        count = "–" if looked is None else str(looked.shape[1])
        ratio = f"{ratios[name]:.2f}" if name in ratios else ""
        counted = f"{parameters(preset(name)).learning:>13,}{flops_of(model, config.image.shape) / 1e9:>14.4f}"
        print(f"{name:26}{config.kind:13}{side:>10}{count:>10}{counted}  {ratio}")


def pictures(name: str, count: int) -> torch.Tensor:
    """Some noise of the size that the preset takes."""
    return torch.rand(count, *preset(name).model.image.shape)


@torch.no_grad()
def times(models: dict[str, Model], seconds: float) -> dict[str, float]:
    """The time of a look by each, as a ratio to the first: the least over turns that are taken in a circle."""
    batches = {name: pictures(name, BATCH) for name in models}
    least = dict.fromkeys(models, float("inf"))
    ends = time.perf_counter() + seconds * len(models)
    while time.perf_counter() < ends or max(least.values()) == float("inf"):
        for name, model in models.items():
            started = time.perf_counter()
            model(batches[name])
            least[name] = min(least[name], time.perf_counter() - started)
    first = least[next(iter(models))]
    return {name: value / first for name, value in least.items()}


if __name__ == "__main__":
    main()
