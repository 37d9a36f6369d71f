"""An episode as named tensors, and back."""

from dataclasses import dataclass

import pytest
import torch

from stawm.look.plan import Part, Unsuited, put_together, taken_apart
from stawm.model.stawm import Episode
from tiny_drawing import drawing_config, drawing_model


def test_an_episode_comes_back_as_it_was():
    model = drawing_model(drawing_config("bernoulli"))
    images = torch.rand(2, *drawing_config("bernoulli").image.shape)
    with torch.no_grad():
        episode = model(images)
    known = {"images": images}
    plan = taken_apart(episode, known)
    again = put_together(plan, known)
    assert type(again) is Episode and type(again.state) is type(episode.state)
    assert again.images is images
    assert again.answers.keys() == episode.answers.keys()
    assert again.answers["draw"].painting.masks is episode.answers["draw"].painting.masks
    assert again.logits is episode.logits
    # Another picture's tensors give another episode, of the same kind.
    other = put_together(plan, {name: torch.zeros_like(tensor) for name, tensor in known.items()})
    assert type(other.answers["draw"]) is type(episode.answers["draw"]) and not other.poses.any()


def test_a_tensor_that_is_met_twice_has_one_name():
    tensor, known = torch.rand(2), {}
    plan = taken_apart({"one": tensor, "more": (tensor, None, 3.0)}, known)
    assert list(known) == ["one"]
    assert plan == {"one": Part("one"), "more": (Part("one"), None, 3.0)}


def test_what_is_no_tensor_is_named():
    @dataclass(frozen=True)
    class Odd:
        inside: object

    with pytest.raises(Unsuited, match=r"answer\.inside is a object"):
        taken_apart({"answer": Odd(object())}, {})
