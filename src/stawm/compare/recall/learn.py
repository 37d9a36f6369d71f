"""A recall task learnt in a folder: new sequences at every step, a checkpoint now and then, a test at the end."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from stawm.compare.recall.model import RecallModel, Sequences, draw_sequences
from stawm.compare.recall.settings import RecallConfig
from stawm.errors import CheckpointError, TrainingError
from stawm.files import parsed, placed, sealed, unsealed, write_bytes
from stawm.store.checkpoint import digest_of, read_tensors, tensor_bytes
from stawm.store.lock import RunLock
from stawm.store.sessions import note_session
from stawm.training.engine import generator_of, optimiser_tensors, restore_optimiser, seed_of

CHECKPOINT = "recall.safetensors"
CLIP_NORM = 1.0
WARMUP = 0.05
TEST = -1
"""In the place of a step, in the seed of the sequences that are measured on."""
CURE = "delete it, and its cell begins again"

OnStep = Callable[[int, float], None]
"""Sees the number of steps done and a share of wrong answers in training, a running mean."""


class RecallRun:
    """A model under training, with its optimiser, in a folder; it goes on from the checkpoint that is there."""

    def __init__(self, config: RecallConfig, seed: int, folder: Path) -> None:
        """The model of that seed, or that of the checkpoint."""
        torch.manual_seed(seed_of(seed))
        self.config, self.seed, self.folder = config, seed, placed(folder)
        self.model = RecallModel(config)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate)
        self.step, self.seconds, self.error = 0, 0.0, 1.0

    def learn(self, on_step: OnStep | None = None) -> None:
        """Take the steps that are left."""
        lock = RunLock(self.folder)
        lock.take()
        try:
            self._restore()
            note_session(self.folder, self.step, 1)
            began = time.perf_counter() - self.seconds
            while self.step < self.config.steps:
                self._take_step()
                self.seconds = time.perf_counter() - began
                if on_step:
                    on_step(self.step, self.error)
                every = self.config.checkpoint_every
                if self.step == self.config.steps or (every and self.step % every == 0):
                    self._save()
        finally:
            lock.free()

    def measure(self) -> tuple[float, list[float]]:
        """The share of wrong answers on sequences that it did not learn from: of all, and by the age of a pair.

        A pair of age 1 was written last. All pairs are asked for.
        """
        wrong, rest = torch.zeros(self.config.pairs, dtype=torch.float64), self.config.test_sequences
        draw = generator_of(self.seed, TEST)
        with torch.no_grad():
            while rest:
                count = min(rest, 250)
                given, rest = draw_sequences(self.config, count, draw), rest - count
                wrong += (self.model(given).argmax(2) != given.wanted).double().sum(0)
        by_age = (wrong / self.config.test_sequences).flip(0)
        return float(by_age.mean()), by_age.tolist()

    def _take_step(self) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate_at(self.config, self.step)
        given = draw_sequences(
            self.config, self.config.batch_size, generator_of(self.seed, self.step), queries=self.config.queries
        )
        self.optimiser.zero_grad(set_to_none=True)
        scores = self.model(given)
        loss = F.cross_entropy(scores.flatten(0, 1), given.wanted.flatten())
        loss.backward()
        norm = clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        if not math.isfinite(float(loss.detach()) + float(norm)):
            raise TrainingError(
                f"step {self.step + 1}: the loss or its gradient is not finite; try a learning_rate below "
                f"{self.config.learning_rate:g}"
            )
        self.optimiser.step()
        self.step += 1
        self.error += (_wrong(scores.detach(), given) - self.error) / min(self.step, 50)

    def _save(self) -> None:
        parts = {"model": self.model.state_dict(), "optimiser": optimiser_tensors(self.optimiser)}
        tensors = {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}
        state = {"step": self.step, "seconds": self.seconds, "error": self.error, "seed": self.seed}
        header = {
            "state": json.dumps(state),
            "settings": json.dumps(asdict(self.config)),
            "tensors": digest_of(tensors),
        }
        write_bytes(self.folder / CHECKPOINT, tensor_bytes(tensors, sealed(header)))

    def _restore(self) -> None:
        path = self.folder / CHECKPOINT
        if not path.exists():
            return
        tensors, header = read_tensors(path, CURE)
        try:
            unsealed(header, must=True)
            if header["tensors"] != digest_of(tensors):
                raise ValueError("the checksum of its tensors differs")
            if parsed(header["settings"]) != json.loads(json.dumps(asdict(self.config))):
                raise ValueError("it has other settings")
            state = parsed(header["state"])
            self.model.load_state_dict(_part(tensors, "model"))
            restore_optimiser(self.optimiser, _part(tensors, "optimiser"))
        except (KeyError, TypeError, ValueError, RuntimeError) as failure:
            raise CheckpointError(f"{path} cannot be gone on from ({failure}); {CURE}") from failure
        self.step, self.seconds, self.error = state["step"], state["seconds"], state["error"]


def rate_at(config: RecallConfig, step: int) -> float:
    """The learning rate of a step: up over the first twentieth, then down to nothing."""
    rising = max(1.0, WARMUP * config.steps)
    return config.learning_rate * min((step + 1) / rising, (config.steps - step) / max(1.0, config.steps - rising))


def _wrong(scores: Tensor, given: Sequences) -> float:
    return float((scores.argmax(2) != given.wanted).double().mean())


def _part(tensors: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{part}/"): value for name, value in tensors.items() if name.startswith(f"{part}/")}
