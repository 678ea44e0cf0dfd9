"""The digits that a formula loses, measured."""

import sympy as sp

from symres.check.formulas.numeric_formula import NumericFunction
from symres.check.formulas.rounding_noise import of_square
from symres.core.symbols import z


def test_the_loss_of_a_formula_is_measured():
    lost = [of_square(NumericFunction(expr, z), 0.0, 9.3) for expr in (sp.tanh(z), sp.exp(z), sp.asin(sp.tanh(z)))]
    assert max(lost[:2]) < 3e-16 and 1e-11 < lost[2] < 1e-8
    cancelling = NumericFunction(z - z**3 / 6 - sp.sin(z), z)
    assert of_square(cancelling, 0.0, 1.0) < 1e-14 and of_square(cancelling, 0.0, 1e-4) > 0.01
