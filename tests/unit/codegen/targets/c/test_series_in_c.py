"""Series in C: tiny and large kernels, refusals, networks."""

import subprocess

import mpmath as mp
import numpy as np
import pytest

import symres as sr
from symres.codegen.scalar import library_source
from symres.codegen.targets.c.compiling import compiler
from symres.core.errors import SymresError
from tests.languages import STRICT_C
from tests.oracles.average import average_of
from tests.oracles.smooth_pairs import average

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formula", "lost", "left_out"),
    [("softplus(z) - log(2)", 1e-12, 0), ("softplus(z) + softplus(-z) - 2*log(2)", 1e-7, 2)],
)
def test_tiny_kernels_of_functions_that_vanish_at_0(formula, lost, left_out):
    """The second function loses digits itself, whose rounding no number of nodes removes."""
    covariance_map = sr.export(sr.derive(sr.mlp(formula)).covariance_map, target="c").load().covariance_map
    for k, c in ((1e-8, 3e-9), (1e-8, 1e-8), (1e-6, -4e-7)):
        squares = mp.mpf(k) ** 2 + 2 * mp.mpf(c) ** 2  # <z1**2 z2**2>; the functions are z/2 + z**2/8 and z**2/4
        exact = squares / 16 if "+" in formula else mp.mpf(c) / 4 + squares / 64
        assert covariance_map(k, k, c, 1.0, 0.0) == pytest.approx(float(exact), rel=lost + left_out * k)


def test_large_kernels_are_right_or_no_number():
    tanh = sr.export(sr.expect2("tanh", "tanh"), target="c").load().expect2
    assert np.isnan(tanh(1e30, 1e30, 1e29)) and tanh(300.0, 300.0, 300.0) == pytest.approx(
        float(average_of(lambda z: mp.tanh(z) ** 2, 300)), rel=1e-13
    )
    for rho in (0.1, 0.99, 1.0, 0.99999):
        found = tanh(300.0, 300.0, 300.0 * rho)
        assert np.isnan(found) == (rho == 0.99999)
        if rho != 0.99999:
            assert found == pytest.approx(average(np.tanh, np.tanh, 300.0, 300.0, rho, steps=80), abs=1e-12)


def test_kinks_are_refused():
    with pytest.raises(SymresError, match="kinks"):
        sr.export(sr.expect2("elu", "softplus"), target="c")


def test_a_wrong_recurrence_is_seen(monkeypatch):
    tools = library_source.library("double")
    text = library_source.ast.unparse(tools.functions["polynomials"])
    wrong = library_source.ast.parse(text.replace("sqrt(n - 1.0)", "sqrt(n - 0.999)")).body[0]
    changed = library_source.Library({**tools.functions, "polynomials": wrong}, tools.constants)
    monkeypatch.setattr(
        "symres.codegen.targets.c.text.library",
        lambda precision: changed if precision == "double" else library_source.library(precision),
    )
    function = sr.export(sr.expect2("tanh", "tanh"), target="c").load().expect2
    assert not abs(function(1.0, 1.0, 0.99) - average(np.tanh, np.tanh, 1.0, 1.0, 0.99)) < 1e-8


@pytest.fixture(scope="module")
def source():
    return sr.export(sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("tanh")]), target="c")


def test_sources_compile_without_a_warning(source, tmp_path):
    texts = [source.text, sr.export(sr.expect2("tanh", "silu"), target="c").text]
    for number, text in enumerate(texts):
        path = tmp_path / f"series{number}.c"
        path.write_text(text)
        subprocess.run([compiler(), *STRICT_C, "-fsyntax-only", str(path)], check=True, capture_output=True)
