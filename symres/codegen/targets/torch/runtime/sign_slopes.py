"""Averages of products of signs with their derivatives: densities at a jump, and Plackett's identity for the angle."""

from __future__ import annotations

import torch
from torch import Tensor

from ....arrays.runtime.sign_averages import (
    _OTHERS,
    _given_two,
    _legs,
    _of_equal_signs,
    _of_four_signs,
    _of_two_signs,
    _of_two_tails,
)
from .operators import _flat


def _plane_slopes(
    h: Tensor, k: Tensor, x: Tensor, y: Tensor, first: Tensor, second: Tensor, turn: Tensor
) -> tuple[Tensor, ...]:
    """The derivatives from the averages of the other variable at a jump, and from the density at both."""
    square = torch.clamp(x * x + y * y, min=1e-300)
    along_h = 0.3989422804014327 * torch.exp(-0.5 * h * h) * first
    along_k = 0.3989422804014327 * torch.exp(-0.5 * k * k) * second
    return along_h, along_k, -turn * y / square, turn * x / square


def _of_two_signs_slopes(needed: list[bool], h: Tensor, k: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """The derivatives of the average of two signs."""
    first, second = _legs(h, k, x, y)
    along = [2.0 * torch.erf(0.7071067811865476 * leg) for leg in (first, second)]
    turn = -0.6366197723675814 * torch.exp(-0.5 * (h * h + first * first))
    return _plane_slopes(h, k, x, y, along[0], along[1], turn)


def _two_signs(h: Tensor, k: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The average of two signs, see _of_two_signs."""
    thresholds = torch.clip(h, -99.0, 99.0), torch.clip(k, -99.0, 99.0)
    return _flat(_of_two_signs, 512, *thresholds, x, y, slopes=_of_two_signs_slopes)


def _of_two_tails_slopes(needed: list[bool], h: Tensor, k: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """The derivatives of the tail."""
    first, second = _legs(h, k, x, y)
    along = [-0.5 * torch.erfc(0.7071067811865476 * leg) for leg in (first, second)]
    turn = -0.15915494309189535 * torch.exp(-0.5 * (h * h + first * first))
    return _plane_slopes(h, k, x, y, along[0], along[1], turn)


def _two_tails(h: Tensor, k: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The upper tail of the bivariate normal law, see _of_two_tails."""
    thresholds = torch.clip(h, -99.0, 99.0), torch.clip(k, -99.0, 99.0)
    return _flat(_of_two_tails, 512, *thresholds, x, y, slopes=_of_two_tails_slopes)


def _of_four_signs_slopes(needed: list[bool], *r: Tensor) -> list[Tensor]:
    """The derivatives of the average of four signs: two variables at zero, and the signs of the others there."""
    slopes = []
    for fixed, others in zip(r, _OTHERS):
        inner = torch.arcsin(_given_two(1.0, fixed, *[r[i] for i in others]))
        rest = torch.clamp((1.0 - fixed) * (1.0 + fixed), min=1e-300)
        slopes.append(0.4052847345693511 * inner / torch.sqrt(rest))
    return slopes


def _four_signs(*r: Tensor) -> Tensor:
    """The average of four signs, see _of_four_signs; up to 4e-11 off close to linear dependence."""
    return _flat(_of_four_signs, 128, *r, slopes=_of_four_signs_slopes)


def _of_equal_signs_slopes(needed: list[bool], r: Tensor) -> tuple[Tensor]:
    """The derivative of the average of four signs of equal correlations."""
    inner = torch.arcsin(torch.clamp(r / (1.0 + 2.0 * r), -1.0, 1.0))
    return (2.431708407416107 * inner / torch.sqrt(torch.clamp((1.0 - r) * (1.0 + r), min=1e-300)),)


def _equal_signs(r: Tensor) -> Tensor:
    """The average of four signs of equal correlations, see _of_equal_signs."""
    return _flat(_of_equal_signs, 512, r, slopes=_of_equal_signs_slopes)
