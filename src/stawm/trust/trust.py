"""What was found out about a trained model's answers after training, and how it is found out."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from stawm.data.image_set import ImageSet, batch_of, image_set, part_of
from stawm.errors import DataError
from stawm.model.stawm import Episode, Stawm
from stawm.trust.familiar import Familiar, Judgement, features_of, fit_judgement
from stawm.trust.strangers import SHEET, Prepare, composed, drawn, evenly
from stawm.trust.style import Style, fit_style, ranked
from stawm.trust.temperature import cooled, fit_temperatures

FEWEST = 50
"""Held-out pictures, below which nothing can be said."""
OWN, REDRAWN, DRAWN, COMPOSED = 6_000, 2_000, 8_000, 2_000
BATCH = 250


@dataclass(frozen=True)
class Trust:
    """How far the answers of one model can be believed."""

    judgement: Judgement
    temperatures: Float[Tensor, "glimpse"] | None = None
    """Of its beliefs after each glimpse; none for a model that does not classify."""
    style: Style | None = None

    def believed(self, logits: Float[Tensor, "batch glimpse classes"]) -> Float[Tensor, "batch glimpse classes"]:
        """The logits whose softmax are calibrated beliefs."""
        return logits if self.temperatures is None else cooled(logits, self.temperatures)

    def familiar(self, episode: Episode) -> list[Familiar]:
        """How familiar each picture of the episode is."""
        return [Familiar(score, score >= 0.5) for score in self.scores(episode).tolist()]

    def scores(self, episode: Episode) -> Float[Tensor, "batch"]:
        """How familiar each picture is, from 0 to 1: content decides, and style ranks what is above 0.5."""
        content = self.judgement.content(episode)
        if self.style is not None:
            content = ranked(content, self.style.likeness(episode.images.to(content)))
        return torch.sigmoid(content)


def calibrate(model: Stawm, learnt: ImageSet, held_out: ImageSet, prepare: Prepare, *, seed: int = 0) -> Trust:
    """Fit the trust in a model: on pictures that it learnt from, on others that it did not, and on strangers.

    Some of the pictures that were learnt from are also shown as a user would give them: enlarged, and prepared again.
    Style is told from drawings, and from other learnt pictures redrawn with a pen of even width.
    Temperatures and the threshold come from the held-out pictures alone.
    """
    if len(held_out) < FEWEST:
        raise DataError(
            f"{held_out.name} has {len(held_out)} pictures to calibrate with; give at least {FEWEST} (--hold-out)"
        )
    order = torch.randperm(len(learnt), generator=torch.Generator().manual_seed(seed))
    own = learnt.images[order[:OWN]]
    chance, drawings = np.random.default_rng(seed), drawn(prepare, DRAWN, seed)
    even = torch.stack([prepare(evenly(picture.numpy(), chance)) for picture in own[-REDRAWN:]])
    strange = torch.cat([drawings, composed(own, COMPOSED, seed)])
    own = torch.cat([own, torch.stack([prepare(_enlarged(picture)) for picture in own[:REDRAWN]])])
    style = fit_style(own, torch.cat([even, drawings]), seed)
    familiar, _ = _features(model, learnt.name, own)
    unknown, _ = _features(model, learnt.name, strange)
    held, logits = _features(model, held_out.name, held_out.images)
    temperatures = None
    if logits is not None and held_out.labels is not None:
        temperatures = fit_temperatures(logits, held_out.labels)
    likeness = style.likeness(held_out.images.float() / 255)
    return Trust(fit_judgement(familiar, unknown, held, likeness, seed), temperatures, style)


def unseen(pictures: ImageSet, learnt: ImageSet) -> ImageSet:
    """Those of the pictures that are not among `learnt`, pixel for pixel."""
    known = {picture.numpy().tobytes() for picture in learnt.images}
    kept = torch.tensor([picture.numpy().tobytes() not in known for picture in pictures.images])
    labels = None if pictures.labels is None else pictures.labels[kept]
    return part_of(image_set(pictures.name, pictures.images[kept], labels, pictures.classes), slice(None))


@torch.inference_mode()
def _features(
    model: Stawm, name: str, images: Tensor
) -> tuple[Float[Tensor, "count features"], Float[Tensor, "count glimpse classes"] | None]:
    """What is judged of each picture, and the logits where the model classifies."""
    device, pictures = next(model.parameters()).device, ImageSet(name, images, None, (), "")
    features, logits = [], []
    model.eval()
    for indices in torch.arange(len(images)).split(BATCH):
        episode = model(batch_of(pictures, indices, device).images)
        features.append(features_of(episode).cpu())
        if "classify" in episode.answers:
            logits.append(episode.logits.cpu())
    return torch.cat(features), torch.cat(logits) if logits else None


def _enlarged(picture: UInt8[Tensor, "channel height width"]) -> Image.Image:
    """The picture as somebody's file: large, and soft."""
    levels = picture.permute(1, 2, 0).numpy()
    image = Image.fromarray(levels[..., 0] if levels.shape[-1] == 1 else levels)
    factor = SHEET / max(image.size)
    return image.resize((round(image.width * factor), round(image.height * factor)), Image.Resampling.BICUBIC)
