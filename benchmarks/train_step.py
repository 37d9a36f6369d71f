"""A training step of presets, its arithmetic, and its share of the machine's rate; and the forms of the memory.

    python benchmarks/train_step.py                                   # every preset, in float32
    python benchmarks/train_step.py --precision 32 bf16-mixed         # in both precisions
    python benchmarks/train_step.py --forms --preset mnist-classify-8

A step is forward, loss, backward, clipping and the optimiser, on random pictures: no data, no augmentation. The forms
take turns, so that a busy machine disturbs both alike, and medians are compared. Arithmetic is counted by torch's own
counter (matrix products and convolutions, forward and backward) and set against the rate of one large matrix product in
the same run and precision.

With --forms the memory's trace is set against its matrix, twice: `matrix` is the package's own form, which updates in
place and reads each W once for query and next code together; `equations` is the rule as the paper writes it, one tensor
operation for each symbol.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from stawm.experiments.build import build, judge_of, learning_part
from stawm.experiments.experiment import Experiment, ModelConfig
from stawm.experiments.presets import PRESETS, preset
from stawm.memory.hebb_rosenblatt import HebbRosenblatt
from stawm.memory.protocol import Recalls
from stawm.memory.state import Matrix
from stawm.model.cell import ONEDNN
from stawm.model.heads.head import Batch
from stawm.model.heads.question import QuestionConfig
from stawm.model.stawm import Stawm
from stawm.precision import HALVES, mixed
from stawm.training.allocator import keep_freed_memory

FORMS = ("trace", "matrix", "equations")
MOST = 0.30
"""The largest share of the time of the plain equations that a step in trace form may take."""


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


def random_labels(config: ModelConfig, batch_size: int) -> Tensor:
    """A class for each picture; of a scene, one for each of its cells, and of two scenes in turn, for those of both."""
    asked = [head for head in config.heads.values() if isinstance(head, QuestionConfig)]
    if not asked:
        return torch.randint(max(config.classes, 1), (batch_size,))
    scenes = 2 if "change" in config.heads else 1
    return torch.randint(asked[0].classes, (batch_size, scenes * asked[0].cells))


def training_step(
    experiment: Experiment, batch_size: int, form: str = "", precision: str = "32", compiled: bool = False
) -> Callable[[], None]:
    """One step of training, ready to be called again and again; what it frees is kept, as in training."""
    keep_freed_memory()
    torch.manual_seed(0)
    config = experiment.model
    if form:
        config = replace(config, memory=replace(config.memory, form="trace" if form == "trace" else "matrix"))
    whole, judge = build(config), judge_of(experiment)
    model = learning_part(whole, experiment.training)
    if form == "equations" and isinstance(whole, Stawm):
        whole.memory.__class__ = Equations
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.Adam(learning, lr=experiment.training.learning_rate, fused=True)
    run: Callable[[Tensor], Any] = torch.compile(model, dynamic=False) if compiled else model
    batch = Batch(torch.rand(batch_size, *config.image.shape), random_labels(config, batch_size))

    def step() -> None:
        optimiser.zero_grad()
        with mixed(precision, "cpu"):
            terms = judge.terms(run(batch.images), batch)
        torch.stack(list(terms.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(learning, experiment.training.clip_norm)
        optimiser.step()

    return step


if ONEDNN:  # By which cells multiply float32; torch's counter does not know it.

    @register_flop_formula(torch.ops.mkldnn._linear_pointwise)
    def _linear(rows: tuple[int, int], matrix: tuple[int, int], *_: Any, **__: Any) -> int:
        return 2 * rows[0] * matrix[0] * matrix[1]


def _learnt(
    gradient: tuple[int, ...], maps: tuple[int, ...], kernels: tuple[int, ...], *settings: Any, **_: Any
) -> int:
    """A convolution's gradients: as much as forward for its maps, and again for its kernels.

    Torch's own formula takes a convolution in groups for a whole one, and counts MobileNetV2 more than four times.
    """
    transposed, wanted = settings[4], settings[7]
    forward = 2 * math.prod(maps if transposed else gradient) * math.prod(kernels[1:])
    return forward * sum(wanted[:2])


def arithmetic(step: Callable[[], None]) -> int:
    """Floating-point operations of one step."""
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution_backward: _learnt}) as counter:
        step()
    return counter.get_total_flops()


def large_product(side: int = 2048, precision: str = "32") -> tuple[Callable[[], None], int]:
    """A square matrix product and its floating-point operations."""
    kind = HALVES.get(precision, torch.float32)
    left, right, out = (torch.rand(side, side).to(kind) for _ in range(3))

    def product() -> None:
        torch.mm(left, right, out=out)

    return product, 2 * side**3


def medians(tasks: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Median seconds of tasks that take turns."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if repeat:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(spent) for name, spent in times.items()}


def measure(experiment: Experiment, batch_size: int, repeats: int, precision: str) -> dict[str, Any]:
    """Seconds and operations of a preset's step, and its share of the rate of a large product."""
    step = training_step(experiment, batch_size, precision=precision)
    operations = arithmetic(step)
    product, product_operations = large_product(precision=precision)
    median = medians({"step": step, "product": product}, repeats)
    rate = product_operations / median["product"]
    return {
        "preset": experiment.name,
        "precision": precision,
        "batch": batch_size,
        "threads": torch.get_num_threads(),
        "seconds": median["step"],
        "operations": operations,
        "product_rate": rate,
        "share_of_rate": operations / median["step"] / rate,
    }


def row(found: dict[str, Any]) -> str:
    """The measures of a preset as text."""
    spent, operations = found["seconds"], found["operations"]
    rates = f"{found['share_of_rate']:>7.0%} of {found['product_rate'] / 1e9:>5.0f} GFLOP/s"
    return f"{found['preset']:30} {found['precision']:10} {spent * 1e3:>8.0f} {operations / 1e9:>8.1f} {rates}"


def measure_forms(experiment: Experiment, batch_size: int, repeats: int) -> dict[str, Any]:
    """Seconds and operations of a step with each form of the memory."""
    tasks = {form: training_step(experiment, batch_size, form) for form in FORMS}
    operations = {form: arithmetic(step) for form, step in tasks.items()}
    median = medians(tasks, repeats)
    return {
        "preset": experiment.name,
        "batch": batch_size,
        "threads": torch.get_num_threads(),
        **{f"{form}_seconds": median[form] for form in FORMS},
        **{f"{form}_operations": operations[form] for form in FORMS},
        **{f"trace_share_of_{form}": median["trace"] / median[form] for form in FORMS[1:]},
    }


def forms_table(found: dict[str, Any]) -> str:
    """The forms as text; what the trace may take is told from the plain equations."""
    lines = [found["preset"], "form        ms/step   GFLOP   trace takes"]
    for form in FORMS:
        spent, operations = found[f"{form}_seconds"], found[f"{form}_operations"]
        line = f"{form:<9} {spent * 1e3:>9.0f} {operations / 1e9:>7.1f}"
        if form != "trace":
            line += f" {found[f'trace_share_of_{form}']:>13.1%}"
        if form == "equations":
            line += f" (at most {MOST:.0%}: {'yes' if found['trace_share_of_equations'] <= MOST else 'NO'})"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Measure, print tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", nargs="+", default=[], help="names (else every preset)")
    parser.add_argument("--precision", nargs="+", choices=("32", "bf16-mixed"), default=["32"])
    parser.add_argument("--forms", action="store_true", help="the forms of the memory, instead of shares of the rate")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one JSON record a line instead of tables")
    chosen = parser.parse_args()
    if not chosen.json:
        print(f"batch {chosen.batch}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    if not chosen.json and not chosen.forms:
        print(f"{'preset':30} {'precision':10} {'ms/step':>8} {'GFLOP':>8}   share of one large product's rate")
    for name in chosen.preset or PRESETS:
        if chosen.forms:
            forms = measure_forms(preset(name), chosen.batch, chosen.repeats)
            print(json.dumps(forms) if chosen.json else forms_table(forms), flush=True)
            continue
        for precision in chosen.precision:
            found = measure(preset(name), chosen.batch, chosen.repeats, precision)
            print(json.dumps(found) if chosen.json else row(found), flush=True)


if __name__ == "__main__":
    main()
