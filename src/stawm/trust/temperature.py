"""Beliefs that mean what they say: temperatures for a classifier (Guo et al., 2017), and how far off beliefs are."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

BINS = 15
LOWEST, HIGHEST, STEPS = 0.2, 5.0, 400
"""Temperatures that are tried, evenly spread over their logarithm."""
SURE = 1e-6
"""Confidence is kept so far from 0 and 1."""


def fit_temperatures(
    logits: Float[Tensor, "count glimpse classes"], labels: Int[Tensor, "count"]
) -> Float[Tensor, "glimpse"]:
    """The temperature T of the answer after each glimpse, by which confidence best tells right answers from wrong.

    Confidence c is the largest of softmax(logits / T). What is least is the logistic loss of being right, −log c where
    the answer is right and −log(1 − c) where it is not. With few wrong answers it varies less than the cross entropy of
    the label, where one digit that nobody could read decides.
    """
    right = logits.argmax(-1) == labels[:, None]
    tried = torch.logspace(math.log10(LOWEST), math.log10(HIGHEST), STEPS, dtype=torch.float64)
    losses = []
    for each in tried:
        confidence = (logits.double() / each).softmax(-1).amax(-1).clamp(SURE, 1 - SURE)
        losses.append(-torch.where(right, confidence.log(), (1 - confidence).log()).mean(0))
    return tried[torch.stack(losses).argmin(0)].float()


def cooled(
    logits: Float[Tensor, "batch glimpse classes"], temperatures: Float[Tensor, "fitted"]
) -> Float[Tensor, "batch glimpse classes"]:
    """The logits divided by the temperature of their glimpse; more glimpses than were fitted share the last one."""
    places = torch.arange(logits.shape[1]).clamp(max=len(temperatures) - 1)
    return logits / temperatures[places, None].to(logits)


def calibration_gaps(
    logits: Float[Tensor, "batch classes"], labels: Int[Tensor, "batch"]
) -> Float[Tensor, "batch bins"]:
    """For each picture confidence − correctness, in the column of its bin of confidence, and 0 in the others."""
    confidence, answer = logits.double().softmax(-1).max(-1)
    bins = (confidence * BINS).long().clamp(0, BINS - 1)
    gaps = torch.zeros(len(logits), BINS, dtype=torch.float64, device=logits.device)
    return gaps.scatter(1, bins[:, None], (confidence - (answer == labels).double())[:, None])


def calibration_error(logits: Float[Tensor, "count classes"], labels: Int[Tensor, "count"]) -> float:
    """The expected calibration error: Σ_b (n_b / n) |mean confidence in b − share of right answers in b|.

    The bins b are 15 of equal width over the confidence, the belief in the likeliest class. On a finite set a perfectly
    calibrated model has more than 0 too, since the shares in small bins are left to chance.
    """
    return float(calibration_gaps(logits, labels).mean(0).abs().sum())
