"""The printer of expressions: names for what is used twice, literals, what has no spelling."""

from __future__ import annotations

import pytest
import sympy as sp

from symres.codegen.emission.emitter import Emitter, argument, variable
from symres.codegen.targets.numpy.dialect import NUMPY
from symres.codegen.targets.torch.dialect import TORCH
from symres.core.errors import DeclarationError
from symres.core.symbols import K1, K2, SHARED, C, K, z

NAMES = {K: "K", K1: "K1", K2: "K2", C: "C", z: "z"}


@pytest.mark.parametrize("dialect", [NUMPY, TORCH], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "expr", [sp.zeta(K), sp.besselj(0, K), sp.Integral(sp.exp(K * z), (z, 0, 1)), sp.gamma(K), sp.Symbol("q")], ids=str
)
def test_nodes_and_symbols_without_a_spelling_are_errors(dialect, expr):
    with pytest.raises(DeclarationError, match="the target has no function"):
        Emitter(dialect, NAMES).function([("return", expr)])


def test_what_is_used_twice_has_a_name():
    lines = Emitter(NUMPY, NAMES).function([("return", sp.sqrt(1 + K) + sp.exp(sp.sqrt(1 + K)))])
    assert "\n".join(lines).count("np.sqrt") == 1


def test_constants_are_literals():
    assert Emitter(NUMPY, NAMES).function([("return", C / (2 * sp.pi))]) == ["return 0.15915494309189535*C"]


def test_symbols_of_the_program_keep_their_names():
    assert [variable(s) for s in SHARED.values()] == [argument(s) for s in SHARED.values()] == list(SHARED)
    assert variable(sp.Symbol("a")) == "a_"
