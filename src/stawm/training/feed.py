"""What a run learns from and is measured on: pictures in batches, or what a frozen model made of them, once."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from stawm.data.augment import augment
from stawm.data.image_set import FeatureSet, ImageSet, Splits, batch_of, hold_out
from stawm.data.strokes import check_digits
from stawm.errors import UsageError
from stawm.experiments.check import check_pictures
from stawm.experiments.experiment import DataConfig, Experiment
from stawm.model.heads.head import Batch
from stawm.model.readout import Readout
from stawm.store.checkpoint import not_finite
from stawm.training.batch_norm import settle
from stawm.training.engine import generator_of
from stawm.training.journal import OnStored

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Feed:
    """The pictures of a run, and how they are cut into batches over all processes."""

    def __init__(
        self, experiment: Experiment, data: Splits, engine: "Fabric", on_stored: OnStored | None = None
    ) -> None:
        """The feed of `experiment`; pictures that do not fit its model are a `DataError`."""
        self.experiment, self.engine, self.views, self.on_stored = experiment, engine, None, on_stored
        self.train, held_out, self.split = hold_out(data, experiment.data.hold_out)
        self.held_out: ImageSet | FeatureSet = held_out
        for pictures in (self.train, held_out):
            check_pictures(pictures, experiment.model)
            if experiment.data.strokes:
                check_digits(pictures)
        asked = experiment.training.batch_size
        self.share = min(asked, len(self.train)) // engine.world_size
        """Pictures that each process takes of a batch."""
        if self.share < 1:
            raise UsageError(
                "training needs one image for each process in a batch; given: "
                f"batch_size {asked}, {len(self.train)} images, {engine.world_size} processes"
            )
        self.batch = self.share * engine.world_size
        self.steps = len(self.train) // self.batch
        """Steps in an epoch; what does not fill a batch is left out, other pictures each time."""

    @property
    def chance(self) -> float:
        """The error of always giving the commonest answer; 1 where pictures have no labels."""
        if self.train.labels is None:
            return 1.0
        labels = self.train.labels[self.train.labels >= 0]
        return 1 - labels.bincount().max().item() / len(labels)

    def store(self, taught: nn.Module, models: Iterable[nn.Module], *, fresh: bool) -> None:
        """Have a frozen model look at each picture once (or once for each view), unless every epoch varies it anew.

        Before a run that is `fresh`, its batch norm settles on pictures as they are, if that is asked for.
        """
        data = self.experiment.data
        if not isinstance(taught, Readout):
            return
        if self.experiment.training.settle and fresh:
            for model in models:
                settle(model, self.train, self.experiment, self.engine)
        if isinstance(self.held_out, ImageSet) and (data.views or not data.varies):
            self.views = Views(taught, self.train, data, self.experiment.seed, self.on_stored)
            with self.engine.autocast():
                self.held_out = stored_features(taught, self.held_out, self.engine.device, on_stored=self.on_stored)

    def of_epoch(self, epoch: int) -> ImageSet | FeatureSet:
        """What is learnt from in this epoch (from 0)."""
        if self.views:
            with self.engine.autocast():
                return self.views.of_epoch(epoch, self.engine.device)
        chance, turn = generator_of(self.experiment.seed, epoch, len(self.train)), self.experiment.data.turn
        return (self.train.turned(turn, chance) if turn else self.train).renewed(chance)

    def batches(
        self, pictures: ImageSet | FeatureSet, epoch: int, position: int
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """This process's share of each batch of an epoch from step `position` on, varied; and the labels.

        Order and variation follow from seed, epoch, step and process alone: a resumed run sees the same.
        """
        seed, data, rank = self.experiment.seed, self.experiment.data, self.engine.global_rank
        order = torch.randperm(len(self.train), generator=generator_of(seed, epoch))
        for step in range(position, self.steps):
            first = step * self.batch + rank * self.share
            batch = batch_of(pictures, order[first : first + self.share], self.engine.device)
            chance = generator_of(seed, epoch, step, rank)
            still = self.views or not data.varies
            yield batch.images if still else augment(batch.images, data, chance, batch.labels), batch.labels


class Views:
    """What the frozen part of a model makes of the pictures to learn from: one view an epoch, in turn, each made once.

    The first is of the pictures as they are, for those are what is asked about later; any other varies every picture by
    its own random amount, drawn from seed and view alone: a resumed run sees the same.
    """

    def __init__(
        self,
        readout: Readout,
        pictures: ImageSet,
        data: DataConfig,
        seed: int = 0,
        on_stored: OnStored | None = None,
    ) -> None:
        """The views that `data` asks for; one, of the pictures as they are, if it asks for no variation."""
        self.readout, self.pictures, self.data, self.seed = readout, pictures, data, seed
        self.on_stored = on_stored
        self.count = data.views if data.varies else 1
        self.stored: dict[int, FeatureSet] = {}

    def of_epoch(self, epoch: int, device: torch.device | str | None = None) -> FeatureSet:
        """The view of this epoch (from 0), made now if no earlier one had it."""
        view = epoch % self.count
        if view not in self.stored:
            chance = generator_of(self.seed, view, len(self.pictures))
            vary = (lambda batch: augment(batch.images, self.data, chance, batch.labels)) if view else None
            self.stored[view] = stored_features(
                self.readout, self.pictures, device, vary=vary, on_stored=self.on_stored
            )
        return self.stored[view]


@torch.no_grad()
def stored_features(
    readout: Readout,
    pictures: ImageSet,
    device: torch.device | str | None = None,
    batch_size: int = 250,
    vary: Callable[[Batch], Tensor] | None = None,
    on_stored: OnStored | None = None,
) -> FeatureSet:
    """What the frozen part of `readout` makes of all `pictures`, varied if asked, kept in main memory as float32."""
    kept = None
    for indices in torch.arange(len(pictures)).split(batch_size):
        batch = batch_of(pictures, indices, device)
        features = readout.features(vary(batch) if vary else batch.images).float().cpu()
        if not features.isfinite().all():
            raise not_finite(f"what it made of {pictures.name}", readout.model)
        if kept is None:
            kept = torch.empty(len(pictures), features.shape[1])
        kept[indices] = features
        if on_stored:
            on_stored(int(indices[-1]) + 1, len(pictures))
    assert kept is not None, "an empty set is refused before"
    return FeatureSet(pictures.name, kept, pictures.labels, pictures.classes, pictures.checksum)
