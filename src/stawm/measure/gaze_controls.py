"""Controls of where a model looks, which cost no training: do its glimpses earn their keep?"""

import copy
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from stawm.data.image_set import ImageSet, batch_of
from stawm.errors import DataError, UsageError
from stawm.experiments.build import Model
from stawm.measure.controls import HEAD
from stawm.measure.evaluate import evaluating
from stawm.model.policy import Policy, PolicyState
from stawm.model.stawm import Gaze, Stawm
from stawm.store.checkpoint import not_finite

Places = Literal["where it looks", "at random places", "at the centre"]
Written = Literal["own", "of empty glimpses", "blank"]
CONDITIONS: tuple[tuple[Places, Written], ...] = (
    ("where it looks", "own"),
    ("at random places", "own"),
    ("at the centre", "own"),
    ("where it looks", "of empty glimpses"),
    ("where it looks", "blank"),
)


@dataclass(frozen=True)
class GazeControl:
    """The error of a classifier whose glimpses are elsewhere, or whose memory holds nothing of them."""

    places: Places
    memory: Written
    """Of empty glimpses: the overview is the picture's, but all glimpses see black, so what is known of it came past
    them (the *where* pathway sees the emission RNN, and that the context). Blank: nothing is written at all."""
    error_after_glimpse: tuple[float, ...]
    spread: float
    """The standard deviation of the centres of a picture's glimpses, as a share of the picture's side."""

    @property
    def error(self) -> float:
        """The share of wrong answers after the last glimpse."""
        return self.error_after_glimpse[-1]


class Elsewhere(nn.Module):
    """A policy whose glimpses keep their size and turn, but lie at the centre or at random places in the picture.

    All else goes its way: what is seen there is gathered, and decides what is emitted next.
    """

    def __init__(self, policy: Policy, places: Places, chance: Generator) -> None:
        """The policy, looking elsewhere; random places are drawn from `chance`."""
        super().__init__()
        self.policy, self.places, self.chance = policy, places, chance

    def start(self, context: Tensor, picture: int = 0) -> PolicyState:
        """The state before the first glimpse."""
        return self.policy.start(context, picture)

    def emit(self, state: PolicyState) -> tuple[PolicyState, Tensor, Tensor]:
        """What the policy emits, with the pose moved."""
        state, emission, pose = self.policy.emit(state)
        return state, emission, torch.cat([pose[..., :2], self._centres(pose).unsqueeze(-1)], -1)

    def pasted(self, state: PolicyState, emission: Tensor, pose: Tensor) -> Tensor | None:
        """Where a sketch would be pasted."""
        return self.policy.pasted(state, emission, pose)

    def gather(self, state: PolicyState, glimpse: Tensor) -> PolicyState:
        """The state after a glimpse was seen."""
        return self.policy.gather(state, glimpse)

    def _centres(self, pose: Float[Tensor, "batch 2 3"]) -> Float[Tensor, "batch 2"]:
        """Where glimpses lie: (across, down). A glimpse at a random place is within the picture, if it fits in."""
        if self.places == "at the centre":
            return torch.zeros_like(pose[..., 2])
        room = (1 - pose[..., :2].abs().sum(-1)).clamp_min(0)
        drawn = torch.rand(room.shape, generator=self.chance).to(room)
        return room * (2 * drawn - 1)


def learns_to_look(model: Model) -> bool:
    """Whether a model classifies, and where it looks was learnt."""
    return isinstance(model, Stawm) and HEAD in model.heads and isinstance(model.policy, Policy)


@torch.no_grad()
def gaze_controls(model: Model, pictures: ImageSet, *, batch_size: int = 250, seed: int = 0) -> tuple[GazeControl, ...]:
    """The error as it is, with glimpses at random places, all at the centre, that see nothing, or are not written."""
    if not isinstance(model, Stawm) or not isinstance(model.policy, Policy) or HEAD not in model.heads:
        raise UsageError("these controls are for a model that classifies and learnt where to look; give such a model")
    if pictures.labels is None:
        raise DataError(f"{pictures.name} has no labels, and errors need them; sort the images into class folders")
    return tuple(_control(model, pictures, *condition, batch_size, seed) for condition in CONDITIONS)


def looking(model: Stawm, policy: nn.Module) -> Stawm:
    """The same model, weights and all, that looks as another policy says."""
    other = copy.copy(model)
    other._modules = {**model._modules, "policy": policy}
    return other


def _gaze(model: Stawm, images: Tensor, empty: bool) -> Gaze:
    """The gaze after all glimpses; if `empty`, these see black once the overview was seen."""
    gaze = model.start(images)
    if empty:
        gaze = replace(gaze, images=torch.zeros_like(images))
    for _ in range(model.glimpses):
        gaze = model.look(gaze)
    return gaze


def _control(
    model: Stawm, pictures: ImageSet, places: Places, memory: Written, batch_size: int, seed: int
) -> GazeControl:
    device, labels = next(model.parameters()).device, pictures.labels
    assert labels is not None and isinstance(model.policy, Policy), "checked before"
    if places != "where it looks":
        model = looking(model, Elsewhere(model.policy, places, torch.Generator().manual_seed(seed)))
    wrong, spreads = [], []
    with evaluating(model):
        for indices in torch.arange(len(pictures)).split(batch_size):
            gaze = _gaze(model, batch_of(pictures, indices, device).images, empty=memory == "of empty glimpses")
            codes = torch.zeros_like(gaze.codes) if memory == "blank" else gaze.codes
            logits = model.ask(gaze.context, codes, gaze.scene, heads=(HEAD,)).logits
            if not logits.isfinite().all():
                raise not_finite("an answer", model)
            wrong.append((logits.argmax(-1).cpu() != labels[indices, None]).double())
            centres = torch.stack([glance.pose[..., 2] for glance in gaze.glances], 1)
            spreads.append(centres.var(1, correction=0).sum(-1).sqrt().cpu() / 2)
    return GazeControl(places, memory, tuple(torch.cat(wrong).mean(0).tolist()), float(torch.cat(spreads).mean()))
