"""Statistics of batch norm taken anew after training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import stawm
from stawm.data import ImageSet, batch_of, load_data
from stawm.errors import UsageError
from stawm.experiments.experiment import CnnConfig, PolicyConfig
from stawm.experiments.presets import preset
from stawm.model.heads.head import Batch
from stawm.training import batch_norm
from stawm.training.batch_norm import norms_of, settle
from stawm.training.engine import start_engine
from stawm.training.fit import fit
from stawm.vision.norms import GlimpseNorm
from tiny_model import stawm as tiny
from tiny_run import TINY, digits, some, with_data, with_model, with_training


def test_statistics_become_those_of_the_pictures_as_they_are() -> None:
    """One batch of everything: the statistics of the first layer are those of its convolution."""
    model, pictures = tiny(TINY.model), digits().train
    whole = with_training(batch_size=len(pictures), settle=3)
    first = norms_of(model.context)[0]
    seen = []
    first.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
    settle(model, pictures, whole, start_engine("cpu"))
    model(batch_of(pictures, torch.arange(len(pictures))).images)
    maps = seen[-1].transpose(0, 1).flatten(1)
    torch.testing.assert_close(first.running_mean[0], maps.mean(1))
    torch.testing.assert_close(first.running_var[0], maps.var(1), rtol=1e-3, atol=1e-4)
    assert not model.training and all(not norm.training and norm.momentum == 0.1 for norm in norms_of(model))


def test_batches_count_alike() -> None:
    model, pictures = tiny(TINY.model), digits(32).train
    first, seen = norms_of(model.context)[0], []
    first.register_forward_pre_hook(lambda layer, given: seen.append(given[0].mean((0, 2, 3))))
    settle(model, pictures, with_training(batch_size=8, settle=3), start_engine("cpu"))
    assert len(seen) == 3
    torch.testing.assert_close(first.running_mean[0], torch.stack(seen).mean(0))


def test_both_pictures_of_a_pair_count_alike() -> None:
    """As in training, where the statistics of one layer follow both; later batches do not outweigh earlier ones."""
    context = CnnConfig(filters=(4, 8), strides=(2, 2))
    base = with_model(preset("scenes-4-change"), context=context, overview=1, policy=PolicyConfig())
    model, pictures = tiny(base.model), some(load_data(base.data.name).train, 24)
    layers = (norms_of(model.context)[0], norms_of(model.glimpse)[0])
    seen: list[tuple[object, int, torch.Tensor]] = []
    for layer in layers:
        layer.register_forward_pre_hook(lambda met, given: seen.append((met, given[1], given[0].mean((0, 2, 3)))))
    settle(model, pictures, with_training(base, batch_size=8, settle=3), start_engine("cpu"))
    for layer in layers:
        for glimpse in range(layer.glimpses):
            means = [mean for met, number, mean in seen if met is layer and number == glimpse]
            assert len(means) == 2 * 3
            torch.testing.assert_close(layer.running_mean[glimpse], torch.stack(means).mean(0))


def test_a_run_settles_once_at_its_end_and_a_resumed_one_ends_the_same(tmp_path: Path) -> None:
    plain = list(fit(TINY, tmp_path / "plain", data=digits()))
    settled = list(fit(with_training(settle=4), tmp_path / "settled", data=digits()))
    assert settled[0].held_out["terms"] == plain[0].held_out["terms"]
    assert settled[1].held_out["terms"] != plain[1].held_out["terms"]
    trained, other = (stawm.load(tmp_path / name).state_dict() for name in ("plain", "settled"))
    differ = {name for name in trained if not torch.equal(trained[name], other[name])}
    assert differ and all(name.endswith(("running_mean", "running_var")) for name in differ)

    stopping = fit(with_training(settle=4), tmp_path / "stopped", data=digits())
    next(stopping)
    stopping.close()
    [last] = fit(None, tmp_path / "stopped", resume=True, data=digits())
    assert last.held_out["terms"] == settled[1].held_out["terms"]
    again = stawm.load(tmp_path / "stopped").state_dict()
    assert all(torch.equal(other[name], again[name]) for name in other)


def test_a_run_settles_on_batches_of_the_digits_that_it_learns_from_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mean and variance of every norm, by hand, over three batches of neither validation nor held-out digits."""
    drawn: list[Tensor] = []

    def spy(pictures: ImageSet, indices: Tensor, device: Any) -> Batch:
        assert torch.equal(pictures.images, data.train.images[:40])
        drawn.append(indices)
        return batch_of(pictures, indices, device)

    data = digits(45, 8)
    monkeypatch.setattr(batch_norm, "batch_of", spy)
    list(fit(with_data(with_training(epochs=1, batch_size=8, settle=3), hold_out=5, rotate=90.0), tmp_path, data=data))
    order = torch.cat(drawn)
    assert [len(indices) for indices in drawn] == [8] * 3 and len(order.unique()) == 24
    assert (order.diff() < 0).any() and (order >= 24).any(), "not the first digits, one after another"

    model = stawm.load(tmp_path)
    norms, seen = norms_of(model), dict[tuple[GlimpseNorm, int], list[Tensor]]()

    def given(norm: GlimpseNorm, arguments: tuple[Tensor, int]) -> None:
        maps, glimpse = arguments
        seen.setdefault((norm, glimpse), []).append(maps.transpose(0, 1).flatten(1))

    kept = {norm: (norm.running_mean.clone(), norm.running_var.clone()) for norm in norms}
    for norm in norms:
        norm.train().register_forward_pre_hook(given)
    for indices in drawn:
        model(data.train.images[indices].float() / 255)
    assert len(seen) == sum(norm.glimpses for norm in norms) > len(norms)
    for (norm, glimpse), batches in seen.items():
        mean, var = (part[glimpse] for part in kept[norm])
        torch.testing.assert_close(mean, torch.stack([maps.mean(1) for maps in batches]).mean(0), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(var, torch.stack([maps.var(1) for maps in batches]).mean(0), rtol=1e-4, atol=1e-5)


def test_a_model_without_batch_norm_has_nothing_to_settle(tmp_path: Path) -> None:
    plain = {name: replace(getattr(TINY.model, name), block="plain4") for name in ("context", "glimpse")}
    with pytest.raises(UsageError, match=r"training\.settle=4 "):
        next(fit(with_training(with_model(**plain), settle=4), tmp_path / "run", data=digits()))
    assert not (tmp_path / "run").exists()
