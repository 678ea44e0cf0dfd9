"""A function is one record: two that symres does not have pass every stage, from the parser to five languages."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

try:
    from jax import enable_x64
except ImportError:  # before JAX 0.8
    from jax.experimental import enable_x64

import symres as sr
import symres.torch as st
from symres.functions.companions import Companion
from symres.functions.function_record import RECORDS, FunctionRecord, register
from tests.oracles.average import average_of


class SquashOfTests(Companion, nargs=1):
    """u/sqrt(1 + u**2)."""


class LogCoshOfTests(Companion, nargs=1):
    """log(cosh(u)), whose averages have no closed form."""


RECORD = FunctionRecord(kind=SquashOfTests, names=("squash_of_tests",), definition=lambda u: u / sp.sqrt(1 + u**2))
OTHER = FunctionRecord(kind=LogCoshOfTests, names=("logcosh_of_tests",), definition=lambda u: sp.log(sp.cosh(u)))
VALUES = {"squash_of_tests": lambda u: u / mp.sqrt(1 + u * u), "logcosh_of_tests": lambda u: mp.log(mp.cosh(u))}


class Langevin(Companion, nargs=1):
    """coth(u) - 1/u."""


@pytest.fixture(autouse=True)
def registered():
    register(RECORD, OTHER)
    yield
    for record in (RECORD, OTHER):
        del RECORDS[record.kind]


@pytest.mark.parametrize("name", VALUES)
def test_its_averages_are_exact_to_any_precision(name):
    phi = sr.activation(f"{name}(z) + z")
    exact = average_of(lambda u: (VALUES[name](u) + u) ** 2, "1.5", digits=25)
    value = sr.expect(phi(sr.z) ** 2).evalf(25, K=sp.Rational(3, 2))
    with mp.workdps(30):
        assert abs(value - exact) < mp.mpf(10) ** -22


def test_what_it_does_far_out_is_known():
    assert str(sr.activation("squash_of_tests(z)").growth) == "bounded"
    assert str(sr.activation("logcosh_of_tests(z)").growth) == "linear"
    with pytest.raises(sr.SymresError, match="not real"):
        sr.activation("log(squash_of_tests(z))")


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "c", "numba"])
def test_every_language_has_its_averages(name, target):
    module = sr.export(sr.expect(sr.activation(f"{name}(z)")(sr.z) ** 2), target=target).load()
    kernels = np.array([0.01, 0.7, 30.0])
    argument = torch.tensor(kernels) if target == "torch" else kernels
    with enable_x64(True):
        values = np.asarray(module.expect(argument), dtype=float)
    for kernel, value in zip(kernels, values, strict=True):
        assert value == pytest.approx(float(average_of(lambda u: VALUES[name](u) ** 2, kernel)), rel=1e-11)


def test_a_theory_is_derived_printed_and_checked():
    theory = sr.derive(sr.Layer(sr.z + sr.Dense(sr.activation("squash_of_tests(z)")(sr.z))))
    assert "squash_of_tests(z)" in str(theory.page())
    assert r"\operatorname{squash_of_tests}" in sp.latex(SquashOfTests(sr.z))
    report = sr.check(theory, points=2, quantities=["kernel_map", "chi_perp"], progress=False)
    assert str(report.outcome) == "PASSED"


def test_a_model_with_it_is_read():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

        def forward(self, x):
            h = self.first(x)
            return self.second(h / torch.sqrt(1 + h * h))

    torch.manual_seed(0)
    model = Net()
    assert "sqrt" in str(st.read(model, torch.randn(8, 64)))


def test_a_definition_without_a_value_at_0_is_refused():
    record = FunctionRecord(kind=Langevin, names=("langevin",), definition=lambda u: sp.coth(u) - 1 / u)
    with pytest.raises(sr.SymresError, match=r"langevin: its definition is 0/0.* at 0; leave it out: give ball"):
        register(record)
    assert Langevin not in RECORDS
