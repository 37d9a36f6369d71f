"""What the classification head believes: the probability of each class after each glimpse, and the last answer."""

from torch import nn

from stawm.look.views import VIEWS, View
from stawm.model.heads.classify import Classified
from stawm.model.stawm import Episode


@VIEWS.add("classify")
def believed(head: nn.Module, answer: Classified, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """The belief after each glimpse; the prediction is the class that is believed most after the last."""
    return [_view([tuple(belief) for belief in row], classes) for row in answer.logits.float().softmax(-1).tolist()]


def _view(beliefs: list[tuple[float, ...]], classes: tuple[str, ...]) -> View:
    last = beliefs[-1]
    confidence = max(last)
    look = {"prediction": classes[last.index(confidence)], "confidence": confidence}
    return View(look, [{"belief": belief} for belief in beliefs])
