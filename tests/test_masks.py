"""Overlap of masks against a loop over pixels, and the scores of a drawing where the truth is known."""

from dataclasses import replace
from heapq import heapify, heappop, heappush

import pytest
import torch

from stawm.data.image_set import image_set
from stawm.experiments.experiment import ImageConfig
from stawm.measure.evaluate import evaluate
from stawm.model.heads.draw import Drawing, Drawn
from stawm.model.heads.head import Batch
from stawm.vision.masks import clearance, contrast, filled, layered, overlap, quality
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


def _ring_by_hand(mask: torch.Tensor, width: int) -> torch.Tensor:
    ring = torch.zeros_like(mask)
    inside = mask.nonzero().tolist()
    for row in range(mask.shape[0]):
        for column in range(mask.shape[1]):
            near = any(max(abs(row - y), abs(column - x)) <= width for y, x in inside)
            ring[row, column] = near and not mask[row, column]
    return ring


@pytest.mark.parametrize(("channels", "levels"), [(1, 16), (3, 4)])
def test_contrast_and_clearance_are_those_of_a_loop(channels: int, levels: int) -> None:
    images, masks = torch.rand(5, channels, 17, 32, dtype=torch.float64), torch.rand(5, 17, 32) < 0.02
    masks[0], masks[1] = False, True
    found, free = contrast(images, masks), clearance(masks)
    for image, mask, share, rim in zip(images, masks, found.tolist(), free.tolist(), strict=True):
        counted = []
        for part in (mask, _ring_by_hand(mask, 1)):
            colours = [
                tuple(int(level * levels) for level in image[:, y, x].tolist()) for y, x in part.nonzero().tolist()
            ]
            counted.append({colour: colours.count(colour) / len(colours) for colour in colours})
        inside, around = counted
        apart = sum(abs(inside.get(one, 0) - around.get(one, 0)) for one in inside | around) / 2
        area = mask.double().mean().item()
        assert share == pytest.approx(apart * area / (area + 0.01) if inside and around else 0)
        edge = [mask[y, x].item() for y in range(17) for x in range(32) if y in (0, 16) or x in (0, 31)]
        assert rim == pytest.approx(1 - sum(edge) / len(edge))
    assert torch.equal(quality(images, masks), found * free)


def test_the_mask_of_a_thing_has_the_best_quality() -> None:
    """A red square on noise of other colours: no mask that is smaller, larger or elsewhere is better."""
    images = 0.4 * torch.rand(1, 3, 32, 32)
    images[0, 0, 8:20, 10:24] = 0.9
    true = torch.zeros(1, 32, 32, dtype=torch.bool)
    true[:, 8:20, 10:24] = True
    best = float(quality(images, true))
    share = 12 * 14 / 32**2
    assert best == pytest.approx(share / (share + 0.01)), "it has no colour of its surroundings"
    for part in ((slice(8, 14), slice(10, 24)), (slice(0, 32), slice(10, 24)), (slice(2, 9), slice(0, 8))):
        other = torch.zeros_like(true)
        other[:, part[0], part[1]] = True
        assert float(quality(images, other)) < best
    for nothing in (torch.zeros_like(true), torch.ones_like(true)):
        assert float(quality(images, nothing)) == 0


def test_a_hole_is_filled_to_the_lowest_wall_around_it() -> None:
    """By a plain search (Dijkstra's) for the way out of each pixel whose highest point is lowest."""
    height, width = 8, 6
    masks = torch.rand(30, height, width, generator=torch.Generator().manual_seed(3))
    masks[:15] = (masks[:15] < 0.55).float()
    raised = 0
    for mask, found in zip(masks.tolist(), filled(masks).tolist(), strict=True):
        ways = [(mask[y][x], y, x) for y in range(height) for x in range(width) if y in (0, 7) or x in (0, 5)]
        heapify(ways)
        wanted: dict[tuple[int, int], float] = {}
        while ways:
            wall, y, x = heappop(ways)
            if (y, x) in wanted:
                continue
            wanted[y, x] = wall
            for down, aside in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= down < height and 0 <= aside < width:
                    heappush(ways, (max(wall, mask[down][aside]), down, aside))
        assert found == [[wanted[y, x] for x in range(width)] for y in range(height)]
        raised += found != mask
    assert raised > 10


def test_a_layer_is_what_a_sketch_and_all_after_it_hide_and_enclose() -> None:
    """By hand: a faint sketch, a ring, and one pixel elsewhere; the ring encloses its middle, the pixel nothing."""
    masks = torch.zeros(1, 3, 5, 5)
    masks[0, 0] = 0.25
    masks[0, 1, 1:4, 1:4], masks[0, 1, 2, 2] = 0.75, 0.0
    masks[0, 2, 4, 4] = 0.5
    first, second, third = layered(masks)[0]
    ring = torch.zeros(5, 5)
    ring[1:4, 1:4], ring[4, 4] = 0.75, 0.5
    torch.testing.assert_close(third, masks[0, 2])
    torch.testing.assert_close(second, ring)
    torch.testing.assert_close(first, 1 - (1 - ring) * 0.75)
