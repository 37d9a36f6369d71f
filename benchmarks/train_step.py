"""A training step of a preset with the trace form and with the matrix form, and its share of the machine's rate.

A step is forward, loss, backward, clipping and the optimiser, on random pictures: no data, no augmentation. The forms
take turns, so that a busy machine disturbs both alike, and medians are compared. Arithmetic is counted by torch's own
counter (matrix products and convolutions, forward and backward) and set against the rate of one large matrix product in
the same run.

The matrix is measured twice: `matrix` is the package's own form, which updates in place and reads each W once for query
and next code together; `equations` is the rule as the paper writes it, one tensor operation for each symbol.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from stawm.experiments.build import build, judge_of
from stawm.experiments.experiment import Experiment
from stawm.experiments.presets import preset
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.protocol import Recalls
from stawm.memory.state import Matrix
from stawm.model.heads.head import Batch
from stawm.model.stawm import Stawm

FORMS = ("trace", "matrix", "equations")
MOST = 0.30
"""The largest share of the matrix's time that a step in trace form may take."""


class Equations(HebbRosenblatt):
    """The memory as the paper's equations, with the matrix, and nothing done to make it quick."""

    def forward(self, codes: Tensor, query: Tensor) -> Recalls:
        """The recalls after each write."""
        rates, contracted = self.rates(), "bmn,b...m->b...n" if self.read == "codes" else "bmn,b...n->b...m"
        weights = codes.new_zeros(codes.shape[0], self.size, self.size)
        recalls = []
        for code in codes.unbind(1):
            response = self.activation(torch.einsum(contracted, weights, code) + rates.theta * code)
            weights = (1 - rates.delta) * weights + rates.eta * torch.einsum("bm,bn->bmn", code, response)
            recalls.append(self.activation(torch.einsum(contracted, weights, query)))
        return Recalls(torch.stack(recalls, dim=-2), Matrix(weights))


def training_step(experiment: Experiment, form: str, batch_size: int) -> Callable[[], None]:
    """One step of training, ready to be called again and again."""
    torch.manual_seed(0)
    config = experiment.model
    config = replace(config, memory=replace(config.memory, form="trace" if form == "trace" else "matrix"))
    model, judge = build(config), judge_of(experiment)
    if form == "equations" and isinstance(model, Stawm):
        model.memory.__class__ = Equations
    optimiser = torch.optim.Adam(model.parameters(), lr=experiment.training.learning_rate)
    batch = Batch(torch.rand(batch_size, *config.image.shape), torch.randint(max(config.classes, 1), (batch_size,)))

    def step() -> None:
        optimiser.zero_grad()
        terms = judge.terms(model(batch.images), batch)
        torch.stack(list(terms.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), experiment.training.clip_norm)
        optimiser.step()

    return step


def arithmetic(step: Callable[[], None]) -> int:
    """Floating-point operations of one step."""
    with FlopCounterMode(display=False) as counter:
        step()
    return counter.get_total_flops()


def large_product(side: int = 2048) -> tuple[Callable[[], None], int]:
    """A square matrix product and its floating-point operations."""
    left, right, out = torch.rand(side, side), torch.rand(side, side), torch.empty(side, side)

    def product() -> None:
        torch.mm(left, right, out=out)

    return product, 2 * side**3


def measure(experiment: Experiment, batch_size: int, repeats: int) -> dict[str, Any]:
    """Median seconds of each form and of the product, and what follows from them."""
    tasks = {form: training_step(experiment, form, batch_size) for form in FORMS}
    operations = {form: arithmetic(step) for form, step in tasks.items()}
    tasks["product"], product_operations = large_product()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if repeat:
                times[name].append(time.perf_counter() - start)
    median = {name: statistics.median(spent) for name, spent in times.items()}
    rate = product_operations / median["product"]
    return {
        "preset": experiment.name,
        "batch": batch_size,
        "threads": torch.get_num_threads(),
        **{f"{form}_seconds": median[form] for form in FORMS},
        **{f"{form}_operations": operations[form] for form in FORMS},
        **{f"trace_share_of_{form}": median["trace"] / median[form] for form in FORMS[1:]},
        "product_rate": rate,
        **{f"{form}_share_of_rate": operations[form] / median[form] / rate for form in FORMS},
    }


def table(found: dict[str, Any]) -> str:
    """The measures as text."""
    lines = [
        f"{found['preset']}, batch {found['batch']}, {found['threads']} threads, torch {torch.__version__}",
        f"one large matrix product: {found['product_rate'] / 1e9:.0f} GFLOP/s",
        "form        ms/step   GFLOP   of that rate   trace takes",
    ]
    for form in FORMS:
        spent, operations = found[f"{form}_seconds"], found[f"{form}_operations"]
        line = f"{form:<9} {spent * 1e3:>9.0f} {operations / 1e9:>7.1f} {found[f'{form}_share_of_rate']:>13.0%}"
        if form != "trace":
            share = found[f"trace_share_of_{form}"]
            line += f" {share:>13.1%} (at most {MOST:.0%}: {'yes' if share <= MOST else 'NO'})"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="mnist-classify-8")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON record instead of the table")
    chosen = parser.parse_args()
    found = measure(preset(chosen.preset), chosen.batch, chosen.repeats)
    print(json.dumps(found) if chosen.json else table(found))


if __name__ == "__main__":
    main()
