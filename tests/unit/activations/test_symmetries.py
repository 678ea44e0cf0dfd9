"""Which part of a formula is even, also where its values have exponents that fill the memory."""

import sympy as sp

from symres.activations.piecewise import PiecewiseFunction
from symres.activations.symmetries import even_part
from symres.core.symbols import z


def test_the_even_part_of_a_sigmoid_is_a_constant():
    assert even_part(PiecewiseFunction((), (1 / (1 + sp.exp(-z)),))).parts == (sp.Rational(1, 2),)


def test_exponentials_of_polynomials_far_out_end():
    """In mpmath they take a bit of memory for each bit of the exponent of exp(2*300^6): a MemoryError."""
    function = PiecewiseFunction((), (sp.cosh(sp.tanh(sp.exp(2 * z**6))),))
    assert even_part(function) == function
