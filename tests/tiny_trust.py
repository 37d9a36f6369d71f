"""Trust made by hand."""

import torch

from stawm.model.stawm import Stawm
from stawm.trust.familiar import Judgement, features_of
from stawm.trust.trust import Trust


def tiny_trust(features: int = 5, threshold: float = 0.0) -> Trust:
    """Trust whose judgement of anything is 0, which is at or below the threshold."""
    parts = torch.zeros(features), torch.ones(features), torch.ones(2, features), torch.zeros(2), torch.zeros(2)
    judgement = Judgement(*parts, threshold=torch.tensor(threshold), unit=torch.tensor(1.0))
    return Trust(judgement, torch.tensor([1.0, 2.0]))


def trust_for(model: Stawm, shape: tuple[int, int, int], threshold: float = 0.0) -> Trust:
    """Such trust for this model."""
    with torch.inference_mode():
        return tiny_trust(features_of(model(torch.zeros(1, *shape))).shape[1], threshold)
