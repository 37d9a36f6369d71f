"""Style is told by the picture alone, ranks what is recognised, and changes nothing about what is not."""

import torch

from stawm.trust.style import Style, fit_style, ranked, style_of, together


def test_soft_pictures_are_told_from_hard_ones():
    generator = torch.Generator().manual_seed(0)
    soft = torch.randint(90, 160, (200, 3, 9, 14), dtype=torch.uint8, generator=generator)
    hard = 255 * torch.randint(0, 2, (200, 3, 9, 14), dtype=torch.uint8, generator=generator)
    state = torch.get_rng_state()
    style = fit_style(soft[:150], hard[:150])
    assert torch.equal(torch.get_rng_state(), state)
    likeness = [style_of(vars(style)).likeness(side[150:].float() / 255) for side in (soft, hard)]
    assert likeness[0].min() > likeness[1].max()


def test_style_ranks_only_what_is_recognised():
    content, likeness = torch.tensor([-2.0, -1.0, 0.0, 1.0, 3.0]), torch.tensor([0.1, 0.9, 0.1, 0.9, 0.1])
    order = ranked(content, likeness)
    assert torch.equal(order[:2], content[:2])
    assert torch.equal(order >= 0, content >= 0)
    assert order[4] < order[3]


def test_several_networks_side_by_side_say_the_mean_of_what_each_says():
    generator = torch.Generator().manual_seed(0)
    sizes = {"first": (4, 3, 5, 5), "second": (6, 4, 3, 3), "third": (5, 6, 3, 3), "outer": (5 * 3 * 4,)}
    biases = {"first_bias": (4,), "second_bias": (6,), "third_bias": (5,), "outer_bias": ()}
    members = [
        Style(**{name: 0.2 * torch.randn(size, generator=generator) for name, size in (sizes | biases).items()})
        for _ in range(3)
    ]
    images = torch.rand(7, 3, 9, 14, generator=generator)
    apart = torch.stack([torch.logit(member.likeness(images).double()) for member in members]).mean(0)
    torch.testing.assert_close(together(members).likeness(images).double(), apart.sigmoid(), atol=1e-3, rtol=0)
