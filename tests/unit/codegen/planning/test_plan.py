"""What a module computes: steps in order, and equal components once."""

import pytest
import sympy as sp

from symres.core.symbols import C_W, C_b, K, gamma
from symres.report.export import export
from symres.results.quantity import NamedStep, Quantity, Status
from tests.oracles.closed_forms import KERNELS, in_50_digits, kernel_map


def test_straight_line_steps_are_computed_in_order():
    S1 = sp.Symbol("S1", positive=True)
    inner = C_b + C_W * 2 / sp.pi * sp.asin(2 * K / (1 + 2 * K))
    body = gamma**2 * K + C_W * KERNELS["gelu"].subs(K, S1)
    quantity = Quantity(
        "kernel_map", (K, C_W, C_b, gamma), body, body, Status.EXACT, steps=(NamedStep(S1, inner, inner),)
    )
    found = export(quantity).load().kernel_map(0.7, 1.9, 0.2, 0.5)
    exact = in_50_digits(body.subs(S1, inner), K=0.7, C_W=1.9, C_b=0.2, gamma=0.5)
    assert found == pytest.approx(float(exact), rel=1e-15)


def test_equal_averages_are_computed_once():
    text = export({"a": kernel_map(KERNELS["gelu"]), "b": kernel_map(KERNELS["gelu"])}).text
    assert text.count("def _average_") == 1
