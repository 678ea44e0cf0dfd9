"""Functions of kernels that are measured in a unit."""

import sympy as sp

from symres.core.symbols import K, k
from symres.theory.criticality.scaling_symmetry import Unit


def test_a_kernel_in_units_has_a_symbol_of_its_own():
    beta = sp.Symbol("beta", positive=True)
    assert Unit(beta, -2).split(sp.Integer(1), sp.erf(beta * sp.sqrt(K))) == (1, sp.erf(sp.sqrt(k)))
    assert Unit().split(sp.Integer(2), K + 1) == (2, K + 1)
