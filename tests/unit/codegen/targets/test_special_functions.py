"""Every special function in which averages close is written by the targets of arrays."""

import mpmath as mp
import pytest

import symres as sr
from symres.functions.records.gaussian_signs import SPECIAL
from tests.oracles.average import average_of

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
    quantity = AVERAGES[function.__name__]()
    assert quantity.expr.has(function)
    values = {s.name: AT[s.name] for s in quantity.symbols}
    module = sr.export(quantity, target=target).load()
    found = float(getattr(module, module.__all__[0])(**{name: float(value) for name, value in values.items()}))
    assert found == pytest.approx(float(quantity.evalf(20, **values)), rel=1e-14)
    if function.__name__ in BY_HAND:
        assert found == pytest.approx(float(average_of(BY_HAND[function.__name__], "0.7")), rel=1e-14)
