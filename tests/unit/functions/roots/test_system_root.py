import mpmath as mp
import sympy as sp

from symres.core.symbols import C_W, C_b, K
from symres.functions.balls import evaluate
from symres.functions.roots.root import SystemRoot

# by hand: C_W = sqrt(2), K = exp(C_W), C_b = K - C_W
SYSTEM = (sp.log(K) - C_W, C_W**2 - 2, K - C_W - C_b)


def exact():
    weight = mp.sqrt(2)
    return mp.exp(weight), weight, mp.exp(weight) - weight


def test_the_solution_of_a_system_has_any_number_of_digits():
    found = SystemRoot.near(SYSTEM, (4.11325, 1.41421, 2.699))
    for digits in (15, 60):
        with mp.workdps(digits + 10):
            for root, value in zip(found, exact(), strict=True):
                number, radius = evaluate(root, {}, digits)
                assert abs(number - value) <= radius <= abs(value) * mp.mpf(10) ** -digits


def test_a_coordinate_is_a_number_of_formulas():
    kernel, weight, bias = SystemRoot.near(SYSTEM, (4.11325, 1.41421, 2.699))
    assert kernel.is_number and kernel != weight
    with mp.workdps(40):
        value, _ = evaluate(kernel * weight + bias, {}, 30)
        k, w, b = exact()
        assert abs(value - (k * w + b)) < mp.mpf(10) ** -29
