"""A cell that is a recall task, and the grids of them that are known by name."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from stawm.compare.recall.learn import CHECKPOINT, RecallRun
from stawm.compare.recall.model import RecallModel
from stawm.compare.recall.settings import RecallConfig, check_recall, recall_from_dict
from stawm.compare.task import Found, Place, Progress, Report, Task, check_known, nested
from stawm.errors import UsageError
from stawm.experiments.build import Budget
from stawm.experiments.recipe import flags
from stawm.memory.hebb_rosenblatt import HebbRosenblattConfig
from stawm.memory.protocol import MEMORIES, other_rule
from stawm.ranges import leaves
from stawm.store.device import usable

RULE = "memory.rule"


@dataclass(frozen=True)
class Recall(Task):
    """A recall task of a preset, with a seed."""

    preset: str
    config: RecallConfig
    number: int = 0

    kind = "recall"
    matched_by = "width"

    @property
    def name(self) -> str:
        """The preset."""
        return self.preset

    @property
    def seed(self) -> int:
        """Of everything random."""
        return self.number

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every setting by its dotted name."""
        return {name: value for name, value, _ in leaves(self.config)}

    def changed(self, settings: Mapping[str, Any], seed: int | None = None) -> "Recall":
        """The task with some settings replaced; another memory rule brings its own settings (the size stays)."""
        base = self if seed is None else replace(self, number=seed)
        if RULE in settings:
            memory = other_rule(base.config.memory, settings[RULE])
            base = replace(base, config=replace(base.config, memory=memory))
        check_known(base, settings)
        changed = replace(base, config=recall_from_dict(nested(asdict(base.config), settings)))
        changed.check()
        return changed

    def check(self) -> None:
        """Refuse settings that cannot be run."""
        check_recall(self.config)

    def parameters(self) -> int:
        """How many numbers of the model learn."""
        try:
            with torch.device("meta"), Budget():
                model = RecallModel(self.config)
        except ValueError as failure:
            raise UsageError(f"this model cannot be built: {failure}") from failure
        return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)

    def arguments(self) -> list[str]:
        """The preset, and what is set otherwise than in it."""
        known = replace(self, config=GRIDS[self.preset].config).settings if self.preset in GRIDS else {}
        changed = {name: value for name, value in self.settings.items() if known.get(name) != value}
        return [self.preset, *flags(changed)]

    def begun(self, folder: Path) -> bool:
        """Whether there is a checkpoint."""
        return (folder / CHECKPOINT).exists()

    def run(self, place: Place, report: Report) -> Found:
        """Learn to the last step, and measure."""
        if place.device not in ("auto", "cpu"):
            raise UsageError(f"recall tasks are small and are computed on the CPU, not on {usable(place.device)}")
        run, steps = RecallRun(self.config, self.seed, place.folder), self.config.steps
        run.learn(
            lambda step, error: report(Progress(f"step {step}/{steps}", step / steps, {"error": round(error, 2)}))
        )
        error, by_age = run.measure()
        lists = {"error_by_age": tuple(by_age)}
        return Found("new", self.config.test_sequences, {"error": error}, lists, round(run.seconds, 1))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {"preset": self.preset, "seed": self.number, "settings": asdict(self.config)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recall":
        """The task that `to_dict` wrote."""
        return cls(values["preset"], recall_from_dict(values["settings"]), values["seed"])


@dataclass(frozen=True)
class Grid:
    """A grid of recall tasks that is known by name: its settings, and what varies unless something else is said."""

    about: str
    config: RecallConfig
    pairs: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()

    def vary(self) -> dict[str, list[Any]]:
        """Every rule that is known, and these numbers of pairs and sizes of the memory."""
        return {RULE: list(MEMORIES), "pairs": list(self.pairs), "memory.size": list(self.sizes)}


GRIDS: dict[str, Grid] = {
    "recall": Grid(
        "Several queries for each sequence, in sizes for two cores.", RecallConfig(), (4, 8, 16, 32), (32, 64, 128)
    ),
    "recall-letters": Grid(
        "Associative retrieval, c9k8j3f1??c -> 9, sizes as in Ba et al. (2016): 26 letters, 10 digits, one query.",
        RecallConfig(
            pairs=4, keys=26, values=10, queries=1, memory=HebbRosenblattConfig(size=50), test_sequences=20_000
        ),
        (4,),
        (20, 50, 100),
    ),
    "recall-zoology": Grid(
        "Multi-query associative recall sizes as in Zoology (Arora et al., 2023): 8,192 words, half keys.",
        RecallConfig(keys=4096, values=4096, queries=0, memory=HebbRosenblattConfig(size=64), test_sequences=3000),
        (4, 8, 16, 32, 64),
        (64, 128, 256),
    ),
}
"""The grids by name; one of them stands in the place of a preset."""


def recall_task(name: str) -> Recall:
    """The base of the grid of that name."""
    return Recall(name, GRIDS[name].config)
