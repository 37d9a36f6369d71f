"""Settings for larger pictures: scales of a glimpse, glimpses kept apart, digits turned before they are put in."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stawm.data import Splits, load_data
from stawm.data.sets.cluttered import ClutteredSet, cluttered
from stawm.errors import DataError, UsageError
from stawm.experiments.check import check
from stawm.experiments.experiment import Experiment, PolicyConfig
from stawm.model.heads.head import Judge
from stawm.training.engine import start_engine
from stawm.training.feed import Feed
from stawm.training.fit import fit
from stawm.training.trainer import Learner
from stawm.vision.glimpse import crowding, cut
from tiny_large import TINY_LARGE
from tiny_model import small
from tiny_run import digits, some, with_data, with_model, with_training


def few(count: int = 40) -> Splits:
    known = load_data("mnist-5k")
    return Splits(*(cluttered("few", some(part, count), 40, 2) for part in (known.train, known.test)))


def test_a_run_learns_from_pictures_that_are_made_anew(tmp_path: Path) -> None:
    (record,) = fit(TINY_LARGE, tmp_path, data=few())
    assert "crowding" in record.train and 0 < record.train["crowding"] <= 0.5
    assert "crowding" not in record.held_out["terms"], "it is no measure of the answers"


def test_each_epoch_turns_digits_by_its_own_angles() -> None:
    engine = start_engine("cpu")
    turned, still = (
        Feed(replace(TINY_LARGE, data=replace(TINY_LARGE.data, turn=turn)), few(), engine) for turn in (20.0, 0.0)
    )
    first, again, second = (feed.of_epoch(epoch) for feed, epoch in ((turned, 0), (turned, 0), (turned, 1)))
    plain = still.of_epoch(0)
    sets = (first, again, second, plain)
    assert all(isinstance(one, ClutteredSet) for one in sets)
    pixels = [one.images for one in sets if isinstance(one, ClutteredSet)]
    assert torch.equal(pixels[0], pixels[1])
    assert not torch.equal(pixels[0], pixels[2]) and not torch.equal(pixels[0], pixels[3])


def test_pictures_that_are_not_made_of_digits_cannot_have_them_turned() -> None:
    feed = Feed(with_data(turn=10.0), digits(), start_engine("cpu"))
    with pytest.raises(DataError, match=r"data\.turn"):
        feed.of_epoch(0)


def test_a_glimpse_of_several_scales_shows_its_sharp_part() -> None:
    model = small(glimpse_scales=3).eval()
    images = torch.rand(2, 1, 12, 12)
    episode = model(images)
    assert episode.glimpses.shape == (2, 3, 1, 5, 5)
    assert model.glimpse.takes[0] == 3
    torch.testing.assert_close(episode.glimpses[:, 0], cut(images, episode.poses[:, 0], 5, 5))


def test_the_term_is_the_crowding_times_its_weight() -> None:
    model = small().eval()
    images = torch.rand(4, 1, 12, 12)
    named = Learner(model, Judge({}), spread=0.25)(images, None)
    torch.testing.assert_close(named["term/crowding"], 0.25 * crowding(model(images).poses))
    assert Learner(model, Judge({}))(images, None) == {}


@pytest.mark.parametrize(
    "experiment",
    [
        with_model(with_training(spread=1.0), policy=PolicyConfig(kind="random")),
        with_model(with_training(spread=1.0), glimpses=1),
        with_training(spread=1.0, glimpses=(1, 2)),
        with_training(spread=1.0, learns="classify", start_from="somewhere"),
    ],
)
def test_glimpses_that_cannot_part_are_refused(experiment: Experiment) -> None:
    with pytest.raises(UsageError, match=r"training\.spread"):
        check(experiment)
