"""Every operation that code may contain, as a function of its own in every language, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from symres.codegen import generate
from symres.codegen.planning.plan import Component
from symres.codegen.stable.primitives import Atan2
from symres.core.symbols import K1, K2, C
from symres.functions.companions import Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from symres.results.quantity import Quantity, Status
from tests.languages import ALL, lanes, language
from tests.oracles.code_functions import MEANT

a, b = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
SYMBOLS = (K1, K2, C, a, b)
S, R = sp.sqrt(1 + C**2), sp.Rational
OPERATIONS = [
    sp.Integer(3), R(-1, 3), sp.pi, sp.Integer(3) + 0 * C, sp.sqrt(2) * a, sp.E**2 * a, sp.pi * K1 * K2, C, -C, -a,
    a - C, -a - C, C - K1, K1 + K2, K1 + 2, K1 - K2 - C, 2 * (a + C), 2 * C + 2 * C**2, K1 * K2 * C * a, a * C / 3,
    -K1 * C / 7, C / K1, C / (a * K1), 1 / a, -1 / a, K1 / C, 1 / C, 1 / (C * K2), 3 * K1 * K2 / (1 + C), a**2, a**3,
    a**5, a**-2, C**3, C**7, C**-2, sp.sqrt(a), 1 / sp.sqrt(a), a ** R(3, 2), (a + 1) ** R(-5, 2),
    (1 + C**2) ** R(3, 2), (1 + C**2) ** R(-5, 2), a ** R(1, 3), (2 + C) ** R(1, 3), a**K1, (2 + C) ** K1,
    a / (1 + C**2) / (1 + K1), (a + C) * (K1 - C) / (K2 + 1), a * sp.sqrt(K1) * sp.sqrt(K2), (C - a) ** 2 * (C - a),
    -(C - a) / 2, (a - C / 2) - (K1 - 3 * C), 1 - (1 - (1 - a) ** 2) ** 2, C**2 * K1 + C**2 * K2 + C**2,
    (C + K1) * (C + K2) * (C + K1 + K2), S * (S + K1) / (1 + S), sp.exp(a) - sp.exp(-C), sp.log(a), sp.sin(b),
    sp.cos(b), sp.tan(b), a * sp.sinh(b), K1 + sp.cosh(b), sp.tanh(b), sp.asin(b / 4), sp.acos(b / 4), sp.atan(b),
    sp.asinh(b), sp.erf(b), sp.erfc(b), sp.Abs(b), sp.sign(b), sp.Max(C, K1, K2), sp.Min(C, b * K1),
    sp.Abs(C) - C * sp.Abs(C - K1), sp.exp(-(K1 + K2) / 2) * sp.sinh(C) * sp.erf(C) ** 2,
    sp.exp(C) * sp.erf(K1) * sp.sin(K2) - sp.exp(C), sp.asin(C / sp.sqrt((1 + K1) * (1 + K2))),
    (C**2 - 1) * sp.acos(C / 4) - (C**2 + 1) * sp.acos(C / 4) ** 2,
    K1 * b + sp.sqrt(K1 * K2 - C**2) * sp.atan(2 * C),  # operation 2 was taken for the number 2, and C*C for 2*C
    Atan2(C, a), Atan2(sp.sqrt(a), -C), Expm1(C), Log1p(a), Erfcx(a), ExpSinh(-a, C), ExpCosh(-a, C), ExpCoshm1(-a, C),
    Sigmoid(b), Softplus(b),
]  # fmt: skip
OPERATIONS += [K1 + e for e in OPERATIONS if e.free_symbols == {C}]  # in tiles of a matrix
NAMED = {name: meaning for head, meaning in MEANT.items() for name in (head.__name__, head.__name__.lower())}
LACKING = {"c": {Erfcx(a)}}
LANGUAGES = [name for name in ALL if name != "numba"]  # minutes to compile; C prints the same lines
# kernels of rows and of columns, covariances, numbers
MATRIX = [np.array([[0.4], [1.7]]), np.array([[0.3, 2.2, 1.0]])]
MATRIX += [np.array([[-0.3, 0.25, 0.5], [0.7, 1.5, -0.75]]), np.float64(1.75), np.float64(-0.5)]
ENTRIES = [np.array(a) for a in ([0.7, 1.2, 3.0], [1.1, 0.4, 2.0], [-0.2, 0.5, 1.9], [0.3, 1.3, 2.5], [-1.5, 0.3, 2.0])]


def plain(name, symbols, formula, *options, **more):
    """A component whose code is its formula as it stands."""
    return Component(name, symbols, formula, formula)


@pytest.mark.parametrize("target", lanes(*LANGUAGES, slow=["c"]))
def test_every_operation_is_spelled_right(target, monkeypatch):
    monkeypatch.setattr(generate, "build_component", plain)
    own = [e for e in OPERATIONS if e not in LACKING.get(target, ())]
    quantities = {f"f{n}": Quantity(f"f{n}", SYMBOLS, e, e, Status.EXACT) for n, e in enumerate(own)}
    module = language(target).load(quantities)
    assert len(module.__all__) == len(own)
    for n, operation in enumerate(own):
        exact = sp.lambdify(SYMBOLS, operation, [NAMED, "mpmath"])
        for arguments in (ENTRIES, MATRIX)[: 1 if target == "jax" else 2]:  # compiled for each shape
            kept = [a.copy() for a in arguments]
            found = language(target).value(getattr(module, f"f{n}"), *arguments)
            places = np.broadcast_arrays(*arguments)
            with mp.workdps(30):
                expected = [float(exact(*map(mp.mpf, place))) for place in zip(*(a.flat for a in places), strict=True)]
            np.testing.assert_allclose(found.ravel(), expected, rtol=4e-15, atol=1e-15, err_msg=str(operation))
            assert all(map(np.array_equal, arguments, kept))
