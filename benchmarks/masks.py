"""Masks of a trained model by the truth, beside what needs no training: Otsu, k-means, GrabCut.

On the held-out pictures of `composites`, whose true masks are known. Each method offers masks of a picture (a model one
for each sketch, Otsu both sides of its threshold, k-means its clusters, GrabCut one). `chosen` is the mean intersection
over union of the one that is taken without the truth: a model's last (as in the paper), the one of best quality (of
masks and layers), or what all sketches but the first hide; of Otsu and k-means the one that touches the rim of the
picture least. `best` is that of the best one offered, which only the truth can name. Then, for the chosen masks: how
well what is told without the truth goes with the overlap (Spearman's rank correlation), and the overlap of masks that
`stawm masks` would call low; last, for the masks of all methods.

    python benchmarks/masks.py runs/composites-draw-32-seed0
    python benchmarks/masks.py --count 200 --json

GrabCut needs OpenCV, which nothing else here does: pip install opencv-python-headless. Without it that row is left out.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from stawm.cli.masks import LOW
from stawm.data import ImageSet, load_data
from stawm.data.image_set import part_of
from stawm.model.heads.draw import DrawingHead, Drawn, sampled
from stawm.model.stawm import Stawm
from stawm.store.weights import load_trained
from stawm.vision.masks import HALF, clearance, contrast, offered, overlap, quality

AT_ONCE = 50
CLUSTERS, ROUNDS = 4, 15
NEARNESS = 0.25
"""What the picture's side counts in k-means beside a channel from 0 to 1."""
INSET = 3
"""Pixels on each side that GrabCut is told to be background."""
CUTS = 5
DRAWS = 4
Pictures = Float[Tensor, "count channel height width"]
Offered = Bool[Tensor, "count masks height width"]


def otsu(images: Pictures) -> Offered:
    """Both sides of the grey level that parts a picture into two of least variance."""
    levels = (images.mean(1) * 255).round().long().flatten(1)
    counts = torch.zeros(len(images), 256, dtype=torch.float64)
    counts.scatter_add_(1, levels, torch.ones_like(levels, dtype=torch.float64))
    below, mass = counts.cumsum(1), (counts * torch.arange(256)).cumsum(1)
    whole, total = below[:, -1:], mass[:, -1:]
    between = (total * below - whole * mass).square() / (below * (whole - below)).clamp(min=1)
    light = (levels > between.argmax(1, keepdim=True)).unflatten(1, images.shape[2:])
    return torch.stack([light, ~light], 1)


def clusters(images: Pictures, count: int = CLUSTERS, seed: int = 0) -> Offered:
    """The clusters of k-means in colour and position, from pixels drawn by chance."""
    height, width = images.shape[2:]
    down, across = torch.linspace(0, NEARNESS, height), torch.linspace(0, NEARNESS, width)
    places = torch.stack(torch.meshgrid(down, across, indexing="ij")).expand(len(images), -1, -1, -1)
    points = torch.cat([images, places], 1).flatten(2).mT
    chance = Generator().manual_seed(seed)
    first = torch.rand(points.shape[:2], generator=chance).topk(count).indices
    centres = points.gather(1, first[..., None].expand(-1, -1, points.shape[2]))
    nearest = first
    for _ in range(ROUNDS):
        # |p − c|² without |p|², which is the same for all centres.
        nearest = (centres.square().sum(-1)[:, None] - 2 * points @ centres.mT).argmin(-1)
        own = F.one_hot(nearest, count).float()
        members = own.sum(1)[..., None]
        centres = torch.where(members > 0, own.mT @ points / members.clamp(min=1), centres)
    return (nearest[:, None] == torch.arange(count)[:, None]).unflatten(2, (height, width))


def grabcut(images: Pictures) -> Offered:
    """GrabCut (Rother et al., 2004) from a frame of background, without a hand that corrects it."""
    cv2: Any = import_module("cv2")
    cv2.setNumThreads(1)
    height, width = images.shape[2:]
    found = []
    for picture in (images * 255).round().byte().permute(0, 2, 3, 1).numpy():
        marks, colours = np.zeros((height, width), np.uint8), [np.zeros((1, 65)), np.zeros((1, 65))]
        frame = (INSET, INSET, width - 2 * INSET, height - 2 * INSET)
        cv2.setRNGSeed(0)
        bgr = np.ascontiguousarray(picture[..., ::-1])
        cv2.grabCut(bgr, marks, frame, *colours, CUTS, cv2.GC_INIT_WITH_RECT)
        found.append(torch.from_numpy((marks == cv2.GC_FGD) | (marks == cv2.GC_PR_FGD)))
    return torch.stack(found)[:, None]


def everything(images: Pictures) -> Offered:
    """The whole picture: what any method must beat."""
    return torch.ones(len(images), 1, *images.shape[2:], dtype=torch.bool)


@torch.no_grad()
def drawn_masks(model: Stawm, images: Pictures) -> tuple[Offered, Float[Tensor, " count"]]:
    """The masks of all sketches, then their layers; how far the last mask is the same when latents are sampled."""
    head = model.head("draw")
    assert isinstance(head, DrawingHead)
    masks, same, chance = [], [], Generator().manual_seed(0)
    for batch in images.split(AT_ONCE):
        drawn = model(batch).answer("draw", Drawn)
        assert drawn.painting.masks is not None
        alpha = drawn.painting.masks[:, :, 0]
        own = alpha >= HALF
        shares = []
        for _ in range(DRAWS):
            sketches = head.sketches(sampled(drawn.mean, drawn.log_variance, chance))
            again = head.canvas.paint(sketches, drawn.poses, *images.shape[2:], sample=False).masks
            assert again is not None
            shares.append(overlap(again[:, -1, 0] >= HALF, own[:, -1]))
        masks.append(offered(alpha) >= HALF)
        same.append(torch.stack(shares).mean(0))
    return torch.cat(masks), torch.cat(same)


def clearest(images: Pictures, offered: Offered) -> Tensor:
    """Of each picture the place of the mask that touches its rim least."""
    return torch.stack([clearance(masks) for masks in offered.unbind(1)], 1).argmax(1)


def finest(images: Pictures, offered: Offered) -> Tensor:
    """Of each picture the place of the mask of best quality."""
    return torch.stack([quality(images, masks) for masks in offered.unbind(1)], 1).argmax(1)


def last(images: Pictures, offered: Offered) -> Tensor:
    """The place of the last mask."""
    return torch.full((len(offered),), offered.shape[1] - 1)


def ranked(first: Float[Tensor, " count"], second: Float[Tensor, " count"]) -> float:
    """Spearman's rank correlation; equal numbers share their mean rank. 0 where one of the two is the same for all."""
    ranks = []
    for values in (first, second):
        _, places, counts = values.unique(return_inverse=True, return_counts=True)
        ends = counts.cumsum(0).double()
        ranks.append((ends - (counts - 1) / 2)[places])
    centred = [rank - rank.mean() for rank in ranks]
    norm = centred[0].norm() * centred[1].norm()
    return float(centred[0] @ centred[1] / norm) if norm else 0.0


@dataclass(frozen=True)
class Judged:
    """Masks that were chosen: what is told of each without the truth, and its overlap with the truth."""

    told: dict[str, Float[Tensor, " count"]]
    own: Float[Tensor, " count"]

    @property
    def follows(self) -> dict[str, float]:
        """The rank correlation of each with the overlap."""
        return {name: ranked(values, self.own) for name, values in self.told.items()}

    @property
    def low(self) -> tuple[float | None, ...]:
        """How many are of low quality, their mean overlap, and that of all others."""
        low = self.told["quality"] < LOW
        parts = [float(self.own[part].mean()) if part.any() else None for part in (low, ~low)]
        return int(low.sum()), *parts


@dataclass(frozen=True)
class Row:
    """What one method found."""

    method: str
    offered: int
    chosen: float
    best: float
    seconds: float
    """For each picture."""
    judged: Judged

    def to_dict(self) -> dict[str, Any]:
        """The row as plain JSON values."""
        return vars(self) | {"judged": {"follows": self.judged.follows, "low": self.judged.low}}

    def __str__(self) -> str:
        numbers = f"{self.offered:>6}{self.chosen:>8.3f}{self.best:>7.3f}{1000 * self.seconds:>6.0f}"
        return f"{self.method:22}{numbers}  {told(self.judged)}"


def told(judged: Judged) -> str:
    """How the masks were judged, in words."""
    follows = ", ".join(f"{name} {value:+.2f}" for name, value in judged.follows.items())
    count, *means = judged.low
    return f"{follows}; {count} low, overlap {' and '.join('–' if mean is None else f'{mean:.3f}' for mean in means)}"


def together(rows: list[Row]) -> Judged:
    """The masks of all methods as one set: a mask may come from anywhere."""
    names = set.intersection(*(set(row.judged.told) for row in rows))
    joined = {name: torch.cat([row.judged.told[name] for row in rows]) for name in rows[0].judged.told if name in names}
    return Judged(joined, torch.cat([row.judged.own for row in rows]))


def explained(images: Pictures, masks: Bool[Tensor, "count height width"]) -> Float[Tensor, " count"]:
    """The share of the picture's variance that is gone if inside and outside have a mean colour each, not one for both.

    The criterion that Otsu's threshold maximises, for any mask.
    """
    pixels, inside = images.flatten(2), masks.flatten(1)[:, None].to(images)
    count = inside.shape[-1]
    shares = torch.stack([inside.mean(-1), 1 - inside.mean(-1)], -1)
    sums = torch.stack([(pixels * inside).sum(-1), (pixels * (1 - inside)).sum(-1)], -1)
    means, whole = sums / (count * shares).clamp(min=1), pixels.mean(-1, keepdim=True)
    between = (shares * (means - whole).square()).sum((1, 2))
    return between / pixels.var(-1, correction=0).sum(1).clamp(min=1e-12)


def measured(
    method: str, images: Pictures, truths: Tensor, offered: Offered, choose: Callable[..., Tensor], seconds: float
) -> Row:
    """The row of a method."""
    overlaps = overlap(offered, truths[:, None].expand_as(offered))
    places = torch.arange(len(images)), choose(images, offered)
    masks, own = offered[places], overlaps[places]
    values = {one.__name__: one(images, masks) for one in (quality, contrast, explained)}
    judged = Judged(values | {"clearance": clearance(masks)}, own)
    scores = (float(own.mean()), float(overlaps.amax(1).mean()))
    return Row(method, offered.shape[1], *scores, seconds / len(images), judged)


def rows_of(pictures: ImageSet, run: str | None) -> list[Row]:
    """A row for each method, the model's first."""
    assert pictures.masks is not None
    images, truths, rows = pictures.images.float() / 255, pictures.masks, list[Row]()
    if run:
        model = load_trained(run).model
        assert isinstance(model, Stawm)
        began = time.perf_counter()
        offered, same = drawn_masks(model, images)
        seconds = time.perf_counter() - began
        single = offered[:, : offered.shape[1] // 2]
        rows.append(measured("model, last mask", images, truths, single, last, seconds))
        rows[0].judged.told["agreement"] = same
        rows.append(measured("model, by quality", images, truths, offered, finest, seconds))
        rows.append(measured("model, from 2 on", images, truths, offered[:, [single.shape[1] + 1]], last, seconds))
    methods: dict[str, Callable[[Pictures], Offered]] = {
        "GrabCut": grabcut,
        f"k-means, {CLUSTERS} clusters": clusters,
        "Otsu": otsu,
        "the whole picture": everything,
    }
    for name, method in methods.items():
        began = time.perf_counter()
        try:
            offered = torch.cat([method(part) for part in images.split(AT_ONCE)])
        except ModuleNotFoundError:
            print(f"{name} is left out: pip install opencv-python-headless", file=sys.stderr)
            continue
        rows.append(measured(name, images, truths, offered, clearest, time.perf_counter() - began))
    return rows


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", help="a run with masks, or weights; none: only what needs no training")
    parser.add_argument("--count", type=int, default=500, metavar="N", help="the first N held-out pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    pictures = part_of(load_data("composites").test, slice(given.count))
    rows = rows_of(pictures, given.run)
    joined = together(rows)
    if given.json:
        found = {"run": given.run, "count": len(pictures), "rows": [row.to_dict() for row in rows]}
        print(json.dumps(found | {"together": {"follows": joined.follows, "low": joined.low}}))
        return
    print(f"{len(pictures):,} held-out composites; low is a quality below {LOW:g}")
    print(f"{'':22}{'masks':>6}{'chosen':>8}{'best':>7}{'ms':>6}  rank correlation with the overlap; low")
    for row in rows:
        print(row)
    print(f"{'all of them':49}  {told(joined)}")


if __name__ == "__main__":
    main()
