import mpmath as mp
import sympy as sp

from symres.core.symbols import C_W, C_b, K
from symres.functions.balls import evaluate
from symres.functions.roots.root import SystemRoot

SYSTEM = (sp.log(K) - C_W, C_W**2 - 2, K - C_W - C_b)  # by hand: C_W = sqrt(2), K = exp(C_W), C_b = K - C_W


def test_the_solution_of_a_system_has_any_number_of_digits_and_stands_in_formulas():
    kernel, weight, bias = found = SystemRoot.near(SYSTEM, (4.11325, 1.41421, 2.699))
    assert kernel.is_number and kernel != weight
    for digits in (15, 60):
        with mp.workdps(digits + 10):
            w = mp.sqrt(2)
            values = (mp.exp(w), w, mp.exp(w) - w, mp.exp(w) * (w + 1) - w)
            for root, value in zip((*found, kernel * weight + bias), values, strict=True):
                number, radius = evaluate(root, {}, digits)
                assert abs(number - value) <= radius <= abs(value) * mp.mpf(10) ** -digits
