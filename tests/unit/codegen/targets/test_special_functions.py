"""Every special function in which averages close is written by the targets of arrays."""

import mpmath as mp
import pytest

import symres as sr
from symres.functions.records.gaussian_signs import SPECIAL
from tests.shared import exact_average

AT = {"K": "0.7", "K1": "0.7", "K2": "1.1", "C": "0.4", "alpha": "0.7"}
AVERAGES = {
    "S2": lambda: sr.expect2("hard_tanh", "hard_tanh"),
    "Q2": lambda: sr.expect2("elu", "elu"),
    "S4": lambda: sr.expect("erf(z)^2*erf(3*z)^2"),
    "T4": lambda: sr.expect("erf(z)^4"),
}
BY_HAND = {"S4": lambda z: mp.erf(z) ** 2 * mp.erf(3 * z) ** 2, "T4": lambda z: mp.erf(z) ** 4}


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("function", SPECIAL, ids=lambda f: f.__name__)
def test_every_special_function(function, target):
    if target == "torch":
        pytest.importorskip("torch")
    average = AVERAGES[function.__name__]()
    assert average.expr.has(function)
    values = {s.name: AT[s.name] for s in average.symbols}
    module = sr.export(average, target=target).load()
    found = float(getattr(module, module.__all__[0])(**{name: float(value) for name, value in values.items()}))
    assert found == pytest.approx(float(average.evalf(20, **values)), rel=1e-14)
    if function.__name__ in BY_HAND:
        expected = exact_average(BY_HAND[function.__name__], mp.mpf("0.7"), breaks=(-6, -2, -1, 0, 1, 2, 6))
        assert found == pytest.approx(float(expected), rel=1e-14)
