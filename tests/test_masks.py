"""Overlap of masks against a loop over pixels, and the scores of a drawing where the truth is known."""

from dataclasses import replace

import pytest
import torch

from stawm.data.image_set import image_set
from stawm.experiments.experiment import ImageConfig
from stawm.measure.evaluate import evaluate
from stawm.model.heads.draw import Drawing, Drawn
from stawm.model.heads.head import Batch
from stawm.vision.masks import overlap
from tiny_drawing import drawing_config, drawing_model, drawn_by


def by_hand(mask: torch.Tensor, truth: torch.Tensor) -> float:
    both = either = 0
    for one, other in zip(mask.flatten().tolist(), truth.flatten().tolist(), strict=True):
        both += one and other
        either += one or other
    return both / either if either else 1.0


def test_overlap_is_intersection_over_union() -> None:
    chance = torch.rand(2, 30, 5, 7)
    masks, truths = chance[0] < torch.linspace(-0.1, 1.1, 30)[:, None, None], chance[1] < 0.4
    truths[0] = False
    masks[1], truths[1] = True, True
    found = overlap(masks, truths)
    assert found.tolist() == pytest.approx([by_hand(*pair) for pair in zip(masks, truths, strict=True)])
    assert found[0] == 1 and found[1] == 1, "both empty, and the same"
    assert torch.equal(overlap(masks.reshape(5, 6, 5, 7), truths.reshape(5, 6, 5, 7)).flatten(), found)
    assert overlap(torch.tensor([[True, False]]), torch.tensor([[False, True]])) == 0


def test_the_scores_of_masks_are_those_of_the_best_and_of_the_last() -> None:
    masks = torch.rand(4, 3, 1, 6, 6)
    truths = torch.rand(4, 6, 6) < 0.5
    drawn = drawn_by(torch.rand(4, 3, 3, 6, 6), torch.zeros(4, 3, 2, 3), masks)
    images = torch.rand(4, 3, 6, 6)
    scores = Drawing().scores(drawn, Batch(images, None, truths))
    pairs = zip(masks[:, :, 0] >= 0.5, truths, strict=True)
    each = torch.tensor([[by_hand(mask, truth) for mask in own] for own, truth in pairs])
    torch.testing.assert_close(scores["iou_best"], each.amax(1))
    torch.testing.assert_close(scores["iou_last"], each[:, -1])
    assert Drawing().scores(drawn, Batch(images, None)).keys() == {"mse"}
    without = replace(drawn, painting=replace(drawn.painting, masks=None))
    assert Drawing().scores(without, Batch(images, None, truths)).keys() == {"mse"}


def test_evaluation_tells_them_where_a_data_set_knows_its_masks() -> None:
    model = drawing_model(drawing_config("bernoulli", ImageConfig(3, 10, 16), classes=0))
    pictures = image_set("seven", torch.randint(0, 256, (7, 3, 10, 16), dtype=torch.uint8), None, ())
    assert evaluate(model, pictures)["scores"].keys() == {"mse"}
    with torch.no_grad():
        drawn = model(pictures.images.float() / 255).answer("draw", Drawn)
    assert drawn.painting.masks is not None
    last = drawn.painting.masks[:, -1, 0] >= 0.5
    scores = evaluate(model, replace(pictures, masks=last), batch_size=3)["scores"]
    assert scores["iou_best"] == scores["iou_last"] == 1
    other = evaluate(model, replace(pictures, masks=~last), batch_size=3)["scores"]
    assert other["iou_last"] == 0, "a mask and all that it leaves out"
