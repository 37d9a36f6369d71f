"""What the classification head believes: the probability of each class after each glimpse, and the last answer."""

from torch import nn

from stawm.look.views import VIEWS, View
from stawm.model.heads.classify import Classified
from stawm.model.stawm import Episode


@VIEWS.add("classify")
def believed(head: nn.Module, answer: Classified, episode: Episode, classes: tuple[str, ...]) -> list[View]:
    """The belief after each glimpse; the prediction is the class that is believed most after the last."""
    views: list[View] = []
    for beliefs in answer.logits.float().softmax(-1).tolist():
        confidence = max(beliefs[-1])
        look = {"prediction": classes[beliefs[-1].index(confidence)], "confidence": confidence}
        views.append(View(look, [{"belief": tuple(belief)} for belief in beliefs]))
    return views
