"""The rivals of a model's masks do what their names say, on pictures whose parts are known."""

import sys
from dataclasses import replace
from importlib import import_module, util
from pathlib import Path

import pytest
import torch
from torch import Tensor

from stawm.data.image_set import image_set
from stawm.experiments.experiment import DataConfig, Experiment, ImageConfig
from stawm.store.weights import export
from stawm.vision.masks import overlap
from tiny_drawing import drawing_config, drawing_model

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
masks = import_module("masks")


def things(count: int, noise: float = 0.05) -> tuple[Tensor, Tensor]:
    """Yellow squares on blue, with some noise, and where they are."""
    images, truths = torch.zeros(count, 3, 32, 32), torch.zeros(count, 32, 32, dtype=torch.bool)
    images[:, 2] = 0.8
    for place in range(count):
        truths[place, 8 + place : 18 + place, 6:20] = True
        images[place, :, 8 + place : 18 + place, 6:20] = torch.tensor([0.9, 0.8, 0.1])[:, None, None]
    return (images + noise * torch.randn_like(images)).clamp(0, 1), truths


def test_what_two_colours_explain_is_the_variance_that_is_gone() -> None:
    images, covers = torch.rand(6, 3, 9, 8, dtype=torch.float64), torch.rand(6, 9, 8) < 0.4
    for image, mask, share in zip(images, covers, masks.explained(images, covers).tolist(), strict=True):
        total = ((image - image.mean((1, 2), keepdim=True)) ** 2).sum()
        left = sum(((part - part.mean(1, keepdim=True)) ** 2).sum() for part in (image[:, mask], image[:, ~mask]))
        assert share == pytest.approx(float(1 - left / total))


def test_otsu_finds_the_threshold_that_explains_most() -> None:
    """Against every threshold, tried in turn."""
    images = torch.rand(3, 3, 12, 15)
    grey = (images.mean(1, keepdim=True) * 255).round()
    found = masks.otsu(images)
    assert torch.equal(found[:, 0], ~found[:, 1])
    tried = torch.stack([masks.explained(grey.double(), grey[:, 0] > level) for level in range(255)])
    torch.testing.assert_close(masks.explained(grey.double(), found[:, 0]), tried.amax(0))


def test_clusters_are_those_of_the_nearest_centre() -> None:
    images, truths = things(3)
    found = masks.clusters(images, 2)
    assert torch.equal(found.sum(1), torch.ones(3, 32, 32, dtype=torch.int64)), "each pixel is in one cluster"
    best = overlap(found, truths[:, None].expand_as(found)).amax(1)
    assert best.min() > 0.99
    places = torch.stack(torch.meshgrid(*[torch.linspace(0, masks.NEARNESS, 32)] * 2, indexing="ij"))
    for image, own in zip(images, found, strict=True):
        points = torch.cat([image, places]).flatten(1).T
        centres = torch.stack([points[cluster.flatten()].mean(0) for cluster in own])
        assert torch.equal(torch.cdist(points, centres).argmin(1).reshape(32, 32) == 0, own[0])


@pytest.mark.skipif(util.find_spec("cv2") is None, reason="OpenCV is for the benchmark only")
def test_grabcut_finds_a_thing_in_a_frame() -> None:
    images, truths = things(2)
    assert overlap(masks.grabcut(images)[:, 0], truths).min() > 0.95


def test_rank_correlation_is_that_of_the_ranks() -> None:
    first = torch.tensor([0.1, 0.2, 0.3, 0.4])
    assert masks.ranked(first, first**3) == pytest.approx(1)
    assert masks.ranked(first, -first) == pytest.approx(-1)
    assert masks.ranked(first, torch.ones(4)) == 0
    # By hand: ranks 1, 2.5, 2.5, 4 beside 1, 2, 3, 4.
    assert masks.ranked(torch.tensor([1.0, 2.0, 2.0, 3.0]), first) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


def test_every_method_has_a_row(tmp_path: Path) -> None:
    images, truths = things(6)
    pictures = replace(image_set("things", (255 * images).to(torch.uint8), None, ()), masks=truths)
    config = drawing_config("bernoulli", ImageConfig(3, 32, 32), classes=0)
    experiment = Experiment(name="tiny", model=config, data=DataConfig(name="composites"))
    weights = export(drawing_model(config), experiment, tmp_path)
    rows = {row.method: row for row in masks.rows_of(pictures, str(weights))}
    assert rows["the whole picture"].chosen == pytest.approx(float(truths.float().mean()))
    assert rows["Otsu"].best > 0.9 and rows["Otsu"].chosen == rows["Otsu"].best, "the square touches no rim"
    assert rows["model, last mask"].offered == 3
    assert rows["model, by quality"].offered == 6, "and the layers"
    assert rows["model, by quality"].best >= rows["model, last mask"].best >= rows["model, last mask"].chosen
    assert rows["model, by quality"].best >= rows["model, from 2 on"].best == rows["model, from 2 on"].chosen
    assert -1 <= rows["model, last mask"].judged.follows["agreement"] <= 1
    joined = masks.together(list(rows.values()))
    assert len(joined.own) == 6 * len(rows) and "agreement" not in joined.follows
    assert joined.follows["contrast"] > 0.5, "squares, and masks of nothing"
    few, below, above = joined.low
    assert (few > 0) == (below is not None) and above is not None and above > 0.9
