"""One model on pictures of 60, 100 and 200 pixels a side: the time of one look, and with a run its errors.

    python benchmarks/large.py
    python benchmarks/large.py --run runs/mnist-cluttered-60-seed0

The model's overview has a fixed size and its glimpses have as many pixels whatever the picture, so a look should cost
the same: at most 1.3 times that of the smallest is asked. Sides take turns, on one thread; seconds are those of the
processor, and medians are told, and their ratios to the smallest side. Also the operations of one look, for comparison.

With a run, its test pictures are shown at each side: the same view in finer pixels, scaled by bilinear interpolation.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from stawm.data.image_set import ImageSet, batch_of
from stawm.experiments.build import build
from stawm.experiments.presets import preset
from stawm.measure.evaluate import evaluating
from stawm.measure.flops import flops_of
from stawm.model.stawm import Stawm
from stawm.store.trained import open_trained

PRESET, SIDES, ROUNDS, BATCH = "mnist-cluttered-60", (60, 100, 200), 60, 250
ASKED = 1.3


def times_in_turn(model: Stawm, pictures: dict[int, Tensor], rounds: int) -> dict[int, float]:
    """The median seconds of a look at pictures of each side; the first few rounds do not count."""
    times: dict[int, list[float]] = {side: [] for side in pictures}
    for number in range(rounds + 3):
        for side, images in pictures.items():
            started = time.process_time()
            model(images)
            if number >= 3:
                times[side].append(time.process_time() - started)
    return {side: statistics.median(values) for side, values in times.items()}


def error_at(model: Stawm, pictures: ImageSet, side: int) -> float:
    """The share of wrong answers on these pictures, shown at another side."""
    wrong = 0
    assert pictures.labels is not None, "digits have labels"
    for indices in torch.arange(len(pictures)).split(BATCH):
        batch = batch_of(pictures, indices)
        images = batch.images
        if side != images.shape[-1]:
            images = F.interpolate(images, (side, side), mode="bilinear", align_corners=False)
        wrong += int((model(images).logits[:, -1].argmax(-1) != batch.labels).sum())
    return wrong / len(pictures)


@torch.no_grad()
def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="a run of a cluttered preset, whose errors are measured too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    pictures = None
    if given.run:
        trained, pictures = open_trained(given.run, None, given.data_dir, "cpu")
        model = trained.model
    else:
        torch.manual_seed(0)
        model = build(preset(PRESET).model)
    if not isinstance(model, Stawm) or model.context.takes[1] is not None:
        raise SystemExit("this model takes pictures of one side only; give one with model.overview_size")
    rows = []
    with evaluating(model):
        flops = {side: flops_of(model, (1, side, side)) for side in SIDES}
        errors = {side: error_at(model, pictures, side) for side in SIDES} if pictures is not None else {}
        for batch in given.batches:
            shown = {side: torch.rand(batch, 1, side, side) for side in SIDES}
            times = times_in_turn(model, shown, given.rounds)
            for side, seconds in times.items():
                ratio = seconds / times[SIDES[0]]
                row = {"side": side, "batch": batch, "ms": 1000 * seconds, "ratio": ratio, "mflop": flops[side] / 1e6}
                rows.append(row | ({"error": errors[side]} if errors else {}))
    if given.json:
        print(json.dumps(rows))
        return
    for row in rows:
        told = f"{row['side']:4} px, batch {row['batch']:3}: {row['ms']:8.2f} ms, {row['ratio']:.2f} times the smallest"
        error = f", error {100 * row['error']:.2f} %" if "error" in row else ""
        print(f"{told}, {row['mflop']:.1f} MFLOP{error}")
    print(f"asked: at most {ASKED} times")


if __name__ == "__main__":
    main()
