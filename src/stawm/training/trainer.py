"""A model under training, with what it is judged by: one step at a time, and all of its state as named tensors."""

import copy
import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from stawm.errors import CheckpointError, TrainingError
from stawm.experiments.build import Learning, Model, build, judge_of, learning_part
from stawm.experiments.experiment import Experiment
from stawm.measure.health import health
from stawm.measure.sums import HEALTH, SCORE, TERM
from stawm.model.heads.head import Batch, Judge
from stawm.model.stawm import Episode, Stawm
from stawm.store.checkpoint import Checkpoint, broken_tensor
from stawm.training.averages import average_decay, update_average
from stawm.training.batch_norm import take_on
from stawm.training.engine import (
    optimiser_for,
    optimiser_tensors,
    random_tensors,
    restore_optimiser,
    restore_random,
    seed_of,
)
from stawm.training.schedule import glimpses_in, learning_rate, size_in
from stawm.training.start import start_from
from stawm.vision.glimpse import crowding

if TYPE_CHECKING:
    from lightning_fabric import Fabric

EXAMINE_EVERY = 20
"""Steps between looks at the health of the run; the last step of an epoch is always looked at."""
GRADIENT_NORM = HEALTH + "gradient_norm"


class Learner(nn.Module):
    """Images, or stored features, and labels in, named scalars out: plain tensors, so that DDP can wrap it whole."""

    def __init__(self, model: Learning, judge: Judge, spread: float = 0.0) -> None:
        """A learner of `model`; `spread` weighs the term that keeps glimpses apart."""
        super().__init__()
        self.model, self.judge, self.spread = model, judge, spread

    def forward(
        self,
        images: Float[Tensor, "batch *picture"],
        labels: Int[Tensor, "batch *cell"] | None,
        examine: bool = False,
    ) -> dict[str, Float[Tensor, ""]]:
        """The loss terms (`term/…`, with gradients), mean scores (`score/…`) and, if `examine`, the `health/…`."""
        answered, batch = self.model(images), Batch(images, labels)
        named = {TERM + name: term for name, term in self.judge.terms(answered, batch).items()}
        if self.spread and isinstance(answered, Episode):
            named[TERM + "crowding"] = self.spread * crowding(answered.poses)
        named |= {SCORE + name: score.mean().detach() for name, score in self.judge.scores(answered, batch).items()}
        if examine:
            named |= {HEALTH + name: value for name, value in health(answered, self.model).items()}
        return named


class Trainer:
    """The model, the exponential moving average (EMA) of its weights, and the optimiser, set up on an engine.

    `taught` is what a step teaches (the model, or what of it is not frozen) and `judged` what evaluation asks: the same
    of the average, where there is one.
    """

    taught: Learning
    judged: Learning

    def __init__(self, engine: "Fabric", experiment: Experiment, steps_per_epoch: int) -> None:
        """A freshly initialised model; the same on all processes, which differ only in their dropout."""
        self.engine, self.experiment, self.steps_per_epoch = engine, experiment, steps_per_epoch
        self.config = experiment.training
        torch.manual_seed(seed_of(experiment.seed))
        self.model = build(experiment.model)
        self.taught = learning_part(self.model, self.config)
        self.judge = judge_of(experiment)
        self.optimiser = optimiser_for(self.model, self.config, fused=self._scaler is None)
        self.average = copy.deepcopy(self.model).to(engine.device) if self.config.average else None
        self.judged = self.taught if self.average is None else learning_part(self.average, self.config)
        if self.average is not None:
            self.average.requires_grad_(False)
        self._learner, self._stepper = engine.setup(
            Learner(self.taught, self.judge, self.config.spread), self.optimiser
        )
        torch.manual_seed(seed_of(experiment.seed, engine.global_rank))

    @property
    def _scaler(self) -> object | None:
        """What scales losses, so that their gradients can be held in float16; none in any other precision."""
        return getattr(self.engine.strategy.precision, "scaler", None)

    @property
    def exported(self) -> Model:
        """The whole model that is exported: the average where there is one."""
        return self.model if self.average is None else self.average

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and its average where there is one."""
        return (self.model,) if self.average is None else (self.model, self.average)

    def begin(self) -> str:
        """Take up the weights that the experiment starts from, and return their fingerprint; none if it names none."""
        if not self.config.start_from:
            return ""
        found = start_from(self.model, self.experiment)
        if self.average is not None:
            self.average.load_state_dict(self.model.state_dict())
        return found

    def look_as_in(self, epoch: int, *, begins: bool) -> None:
        """Take as many glimpses, and as large ones, as in this epoch (from 0), to learn and to be measured.

        Where the epoch `begins`, glimpses that are new in it take on the statistics of batch norm of the one before.
        """
        if not (self.config.glimpses or self.config.sides):
            return
        config = self.experiment.model
        known, count = (glimpses_in(self.config, config, one) for one in (max(epoch - 1, 0), epoch))
        for model in self.models:
            assert isinstance(model, Stawm)
            model.glimpses, model.glimpse_size = count, size_in(self.config, config, epoch)
            if begins and count > known:
                take_on(model, known)

    def step(self, images: Tensor, labels: Tensor | None, step: int) -> dict[str, float]:
        """Learn from one batch; the named terms, scores and, now and then, the health. Step numbers start at 0."""
        self._learner.train()
        for group in self.optimiser.param_groups:
            group["lr"] = group["share"] * learning_rate(self.config, step, self.steps_per_epoch)
        self._stepper.zero_grad(set_to_none=True)
        examine = (step + 1) % EXAMINE_EVERY == 0 or (step + 1) % self.steps_per_epoch == 0
        named = self._learner(images, labels, examine=examine)
        loss = torch.stack([value for name, value in named.items() if name.startswith(TERM)]).sum()
        self.engine.backward(loss)
        self.engine.strategy.precision.unscale_gradients(self.optimiser)
        limit = self.config.clip_norm if self.config.clip_norm > 0 else math.inf
        norm = clip_grad_norm_(self.model.parameters(), limit)
        names = [*named, GRADIENT_NORM]
        values = torch.stack([*(value.detach().to(norm.dtype) for value in named.values()), norm])
        measured = dict(zip(names, values.tolist(), strict=True))
        if self._scaler is not None and not math.isfinite(measured[GRADIENT_NORM]):
            # The scale was too large: this step is left out, and the next one has a smaller.
            del measured[GRADIENT_NORM]
        self._check_finite(measured, step)
        self._stepper.step()
        if self.average is not None:
            update_average(self.average, self.model, average_decay(self.config.average, step))
        return measured

    def tensors(self) -> dict[str, Tensor]:
        """All that changes in training, by part and name; every process must ask, as random states are gathered."""
        parts = {
            "model": self.model.state_dict(),
            "average": self.average.state_dict() if self.average is not None else {},
            "optimiser": optimiser_tensors(self.optimiser),
            "scaler": {name: torch.tensor(one) for name, one in self.engine.strategy.precision.state_dict().items()},
            "random": random_tensors(self.engine),
        }
        return {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Put everything back as it was when `checkpoint` was written."""
        if checkpoint.world != self.engine.world_size:
            raise CheckpointError(
                f"the checkpoint is of a run in {checkpoint.world} processes, but this is {self.engine.world_size}; "
                f"resume with torchrun and {checkpoint.world} processes in all (1: without torchrun)"
            )
        if broken := broken_tensor(checkpoint.part("model") | checkpoint.part("average")):
            raise CheckpointError(
                f"in the checkpoint of step {checkpoint.step} the weight {broken} holds NaN or infinity; start a new "
                "run"
            )
        try:
            self.model.load_state_dict(checkpoint.part("model"))
            if self.average is not None:
                self.average.load_state_dict(checkpoint.part("average"))
            restore_optimiser(self.optimiser, checkpoint.part("optimiser"))
            scales = {name: value.item() for name, value in checkpoint.part("scaler").items()}
            self.engine.strategy.precision.load_state_dict(scales)
            restore_random(self.engine, checkpoint.part("random"))
        except (RuntimeError, ValueError, KeyError) as failure:
            reason = " ".join(str(failure).split())
            raise CheckpointError(
                f"the checkpoint of step {checkpoint.step} is of another model: {reason[:200]}; start a new run"
            ) from failure

    def _check_finite(self, measured: dict[str, float], step: int) -> None:
        infinite = [(name, value) for name, value in measured.items() if not math.isfinite(value)]
        wrong = [f"the term {name.removeprefix(TERM)} is {value}" for name, value in infinite if name.startswith(TERM)]
        wrong += [
            f"{name} is {value}" for name, value in infinite if not name.startswith(TERM) and name != GRADIENT_NORM
        ]
        if not wrong and infinite:
            gradients = ((name, weight.grad) for name, weight in self.model.named_parameters())
            broken = (name for name, each in gradients if each is not None and not each.isfinite().all())
            wrong = [f"the gradient of {next(broken, 'the loss')} is not finite"]
        if wrong:
            rate, clip = learning_rate(self.config, step, self.steps_per_epoch), self.config.clip_norm
            raise TrainingError(
                f"step {step + 1}: {wrong[0]}; the last checkpoint is kept; try a lower training.learning_rate (here "
                f"{rate:.3g}), a longer training.warmup ({self.config.warmup}) or a smaller training.clip_norm ({clip})"
            )
