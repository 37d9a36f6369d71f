"""Temperatures bring confidence to the share of right answers, and the calibration error is what it is defined as."""

import pytest
import torch

from stawm.trust.temperature import calibration_error, calibration_gaps, cooled, fit_temperatures


def drawn(count: int, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits that are too sure by this factor, and labels drawn from the true beliefs."""
    generator = torch.Generator().manual_seed(0)
    true = 2 * torch.randn(count, 5, generator=generator)
    labels = torch.multinomial(true.softmax(-1), 1, generator=generator)[:, 0]
    return true * temperature, labels


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_that_was_used_is_found(temperature: float):
    logits, labels = drawn(20_000, temperature)
    found = fit_temperatures(torch.stack([logits, 2 * logits], 1), labels)
    torch.testing.assert_close(found, temperature * torch.tensor([1.0, 2.0]), rtol=0.1, atol=0)
    after = calibration_error(cooled(logits[:, None], found)[:, 0], labels)
    assert after < 0.02
    if temperature > 1:
        assert calibration_error(logits, labels) > 0.1 > after


def test_the_error_is_the_gap_in_each_bin_weighed_by_its_share():
    shares = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.6, 0.4]])
    labels = torch.tensor([0, 0, 1, 1])
    # Three in the bin of 0.9, of which two are right; one in the bin of 0.6, which is wrong.
    assert calibration_error(shares.log(), labels) == pytest.approx(0.75 * abs(0.9 - 2 / 3) + 0.25 * 0.6)


def test_full_confidence_has_a_bin_and_gaps_of_parts_add_up():
    logits, labels = drawn(50, 40.0)
    whole = calibration_gaps(logits, labels)
    assert torch.equal(whole, torch.cat([calibration_gaps(logits[:20], labels[:20]), whole[20:]]))
    assert calibration_error(torch.tensor([[1e4, 0.0]]), torch.tensor([0])) == 0


def test_glimpses_beyond_the_fitted_ones_share_the_last_temperature():
    logits = torch.ones(1, 3, 2)
    assert cooled(logits, torch.tensor([1.0, 2.0]))[0, :, 0].tolist() == [1.0, 0.5, 0.5]
