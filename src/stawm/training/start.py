"""Starting from trained weights, and the features that a frozen model is asked for only once."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from stawm.data.augment import augment
from stawm.data.image_set import FeatureSet, ImageSet, batch_of
from stawm.errors import CheckpointError, UsageError
from stawm.experiments.build import Model
from stawm.experiments.experiment import DataConfig, Experiment, ModelConfig
from stawm.model.readout import Readout
from stawm.store.checkpoint import first_difference
from stawm.store.weights import load_trained
from stawm.training.engine import generator_of

HEAD, RATES = "classify.", "memory.shift"


def check_start(experiment: Experiment) -> None:
    """Refuse to teach a classifier on a frozen model that nobody has trained, saying what to train first.

    Views that nothing would use are refused too.
    """
    data = experiment.data
    if data.views and not (data.views > 1 and data.varies and experiment.training.learns == "head"):
        raise UsageError(
            f"data.views={data.views} cannot be used: a frozen model (--training.learns head) stores each picture as "
            "it is and varied, so give 2 or more and something that varies, such as --data.rotate 20; or leave it at 0"
        )
    if experiment.training.learns == "head" and not experiment.training.start_from:
        first = experiment.after or "a drawing preset"
        raise UsageError(
            f"{experiment.name} starts from a trained drawing model; train {first} first (`stawm train {first}`), then "
            f"name its run: --training.start_from runs/{first}-seed{experiment.seed}"
        )


def start_from(model: Model, experiment: Experiment) -> None:
    """Fill `model` with the weights that `training.start_from` names.

    What they do not hold stays as it was initialised: a new classifier, and rates that now learn (where the drawing
    model learnt its own, these are the start).
    """
    source = experiment.training.start_from
    trained = load_trained(source)
    _check_fits(experiment, trained.experiment, source)
    missing, unexpected = model.load_state_dict(trained.model.state_dict(), strict=False)
    strange = [*unexpected, *(name for name in missing if not name.startswith((HEAD, RATES)))]
    if strange:
        raise CheckpointError(
            f"the weights of {source} do not fit {experiment.name}: {strange[0]} is in only one of them"
        )


class Views:
    """What the frozen part of a model makes of the pictures to learn from: one view an epoch, in turn, each made once.

    The first is of the pictures as they are, for those are what is asked about later; any other varies every picture by
    its own random amount, drawn from seed and view alone: a resumed run sees the same.
    """

    def __init__(self, readout: Readout, pictures: ImageSet, data: DataConfig, seed: int = 0) -> None:
        """The views that `data` asks for; one, of the pictures as they are, if it asks for no variation."""
        self.readout, self.pictures, self.data, self.seed = readout, pictures, data, seed
        self.count = data.views if data.varies else 1
        self.stored: dict[int, FeatureSet] = {}

    def of_epoch(self, epoch: int, device: torch.device | str | None = None) -> FeatureSet:
        """The view of this epoch (from 0), made now if no earlier one had it."""
        view = epoch % self.count
        if view not in self.stored:
            chance = generator_of(self.seed, view, len(self.pictures))
            vary = (lambda images: augment(images, self.data, chance)) if view else None
            self.stored[view] = stored_features(self.readout, self.pictures, device, vary=vary)
        return self.stored[view]


@torch.no_grad()
def stored_features(
    readout: Readout,
    pictures: ImageSet,
    device: torch.device | str | None = None,
    batch_size: int = 250,
    vary: Callable[[Tensor], Tensor] | None = None,
) -> FeatureSet:
    """What the frozen part of `readout` makes of all `pictures`, varied if asked, kept in main memory as float32."""
    kept = None
    for indices in torch.arange(len(pictures)).split(batch_size):
        images = batch_of(pictures, indices, device).images
        features = readout.features(vary(images) if vary else images).float().cpu()
        if kept is None:
            kept = torch.empty(len(pictures), features.shape[1])
        kept[indices] = features
    assert kept is not None, "an empty set is refused before"
    return FeatureSet(pictures.name, kept, pictures.labels, pictures.classes, pictures.checksum)


def _check_fits(wanted: Experiment, trained: Experiment, source: str) -> None:
    """Refuse weights of a model that sees otherwise, naming the first setting that differs, or that knows labels."""
    if wanted.training.learns == "head" and trained.model.classes:
        raise UsageError(
            f"the model of {source} ({trained.name}) has learnt from labels, and self-supervision must not; "
            f"start from a drawing model{f' such as {wanted.after}' if wanted.after else ''}"
        )
    difference = first_difference(_sight(wanted.model).to_dict(), _sight(trained.model).to_dict())
    if difference:
        name, asked, found = difference
        raise UsageError(
            f"the model of {source} ({trained.name}) was trained with {name} = {found!r}, not {asked!r}; "
            f"set --{name} {found} or start from other weights"
        )


def _sight(config: ModelConfig) -> Experiment:
    """The settings that must agree: all but those of the classifier, and how rates and memory are kept."""
    memory = replace(config.memory, learn_rates=False, form="auto")
    return Experiment("", model=replace(config, classes=0, dropout=0.0, hidden=config.hidden_size, memory=memory))
