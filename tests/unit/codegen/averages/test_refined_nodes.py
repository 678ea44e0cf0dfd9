"""Generated averages of functions whose parameters act where no scale is read off: steps are made shorter there.

The oracle is mpmath's quadrature of the formulas as they are declared, between points that crowd where they change.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch
from scipy import special

import symres as sr
from symres.codegen.averages import average_code
from symres.codegen.emission.emitter import variable
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.torch import TARGET as TORCH
from symres.core.symbols import K1, K2, C, K, z
from symres.report.export import export

LANGUAGES = {"numpy": NUMPY, "torch": TORCH}
A, P = sp.Symbol("a", real=True), sp.Symbol("p", positive=True)
SOFTPLUS = sp.log(1 + sp.exp(z))
FORMULAS = {
    "tanh of tanh": sp.tanh(P * sp.tanh(z)),
    "sin of tanh": sp.sin(A * sp.tanh(z)),
    "a power": (1 + z**2) ** (-A),
    "a quotient": 1 / (1 + P * z**4),
    "a bump": z * sp.exp(-P * z**4),
    "tanh of a cube": sp.tanh(P * z**3),
    "tanh of softplus": sp.tanh(P * (SOFTPLUS - 1)),
}
PAIRS = [
    ("tanh of tanh", 12.0),
    ("sin of tanh", 30.0),
    ("a power", 150.0),
    ("a quotient", 1e4),
    ("a bump", 1e4),
    ("tanh of a cube", 1e4),
    ("tanh of softplus", 300.0),
]


def formula_of(name):
    """A formula, and its parameter."""
    formula = FORMULAS[name]
    return formula, (formula.free_symbols - {z}).pop()


@cache
def text(name, power, target="numpy"):
    """The module of <f**power> over one variable, or of <f f> over two for power 0."""
    formula, parameter = formula_of(name)
    f = sr.Activation("f", formula, (parameter,))
    quantity = sr.expect(f(z) ** power) if power else sr.expect2(f, f)
    return written((*((K,) if power else (K1, K2, C)), parameter), quantity, target)


def written(symbols, quantity, target):
    """A module with one average alone, as yet unmeasured."""
    language = LANGUAGES[target]
    source = average_code.source("_average_1", symbols, quantity.body, language.dialect)
    parts = [line for group in language.imports for line in group.values()]
    parts += language.runtime.definitions(*source.lines, *source.preamble)
    parts += [f"{name} = {value}" for name, value in source.tables]
    body = [f"    {line}" for line in source.lines]
    return "\n".join([*parts, *source.preamble, f"def _average_1({', '.join(map(variable, symbols))}):", *body])


def loaded(code):
    space = {}
    exec(compile(code, "module", "exec"), space)
    return space["_average_1"]


def called(code, target, *arguments):
    """Values at numbers; the library is told by name."""
    made = np.asarray if target == "numpy" else torch.tensor
    with np.errstate(all="ignore"):
        return np.asarray(loaded(code)(*(made(np.atleast_1d(np.asarray(a, dtype=float))) for a in arguments)))


def points(deviation, value):
    """Where intervals end: crowded around the places where some formula changes, and close enough for waves."""
    out = {mp.mpf(0)}
    for centre in (mp.mpf(0), mp.log(mp.e - 1)):
        for n in range(-4, 14):
            out |= {centre + side * deviation * mp.mpf(2) ** -n for side in (-1, 1)}
    count = max(16, int(2 * abs(value)) if abs(value) < 400 else 0)
    out |= {deviation * (mp.mpf(12 * k) / count) for k in range(-count, count + 1)}
    return sorted(x for x in out if abs(x) <= 12 * deviation)


@cache
def exact(name, power, kernel, value):
    """<f**power> and <|f|**power>."""
    formula, parameter = formula_of(name)
    f = sp.lambdify((z, parameter), formula, "mpmath")
    with mp.workdps(25):
        k, v = mp.mpf(kernel), mp.mpf(value)
        law = lambda x: mp.exp(-x * x / (2 * k)) / mp.sqrt(2 * mp.pi * k)  # noqa: E731
        ends = points(mp.sqrt(k), value)
        mean = mp.quad(lambda x: f(x, v) ** power * law(x), ends, maxdegree=5)
        size = mp.quad(lambda x: abs(f(x, v)) ** power * law(x), ends, maxdegree=4)
    return float(mean), float(size)


@cache
def legendre(count):
    return np.polynomial.legendre.leggauss(count)


def exact_pair(name, rho, kernel, value):
    """<f f> by dense panels in the plane: over z1/s and the independent part of z2/s."""
    formula, parameter = formula_of(name)
    f = sp.lambdify((z, parameter), formula, "numpy")
    s = np.sqrt(kernel)

    def nodes(centres, count):
        ends = np.concatenate([c + side * np.geomspace(1e-4, 20, count) for c in centres for side in (-1, 1)])
        ends = np.unique(np.clip([*ends, *centres, *np.linspace(-9.5, 9.5, 4 * count)], -9.5, 9.5))
        x, w = legendre(20)
        half = np.diff(ends)[:, None] / 2
        y = ((ends[1:] + ends[:-1])[:, None] / 2 + half * x).ravel()
        return y, (half * w).ravel() * np.exp(-y * y / 2) / np.sqrt(2 * np.pi)

    places = [0.0, float(np.log(np.e - 1)) / s]
    x, mass = nodes(places, 60)
    total, rest = 0.0, np.sqrt((1 - rho) * (1 + rho))
    outer = f(s * x, value)
    for place, weight in zip(x, mass * outer, strict=True):
        if abs(weight) < 1e-19:
            continue
        y, inner = nodes([(c - rho * place) / rest for c in places], 30)
        total += weight * np.sum(f(s * (rho * place + rest * y), value) * inner)
    return total, np.sum(outer * outer * mass)


# ---- two variables -----------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("rho", [0.3, -0.9, 0.99])
@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_pairs(name, value, rho):
    mean, size = exact_pair(name, rho, 0.7, value)
    found = called(text(name, 0), "numpy", 0.7, 0.7, 0.7 * rho, value)
    assert found == pytest.approx(mean, abs=1e-12 * size, rel=0)


@pytest.mark.parametrize("name", ["tanh of tanh", "sin of tanh", "tanh of softplus"])
def test_pairs_in_torch_are_those_in_numpy(name):
    value = dict(PAIRS)[name]
    at = (np.full(4, 0.7), np.full(4, 0.7), 0.7 * np.array([0.3, -0.9, 0.99, 1.0]), np.full(4, value))
    found, other = (called(text(name, 0, target), target, *at) for target in ("torch", "numpy"))
    np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-13)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_pairs_of_equal_inputs_are_squares(name, value):
    mean, size = exact(name, 2, 0.7, value)
    found = called(text(name, 0), "numpy", 0.7, 0.7, 0.7, value)
    assert found == pytest.approx(mean, abs=1e-12 * size, rel=0)


@pytest.mark.parametrize("rho", [0.3, -0.95, 0.9999])
@pytest.mark.parametrize("name", ["tanh of tanh", "sin of tanh", "tanh of softplus"])
def test_pairs_with_a_function_in_closed_form(name, rho):
    """The average of relu over z2 given z1 is known; the rule for it is refined as the others are."""
    (formula, parameter), value = formula_of(name), dict(PAIRS)[name]
    f, relu = sr.Activation("f", formula, (parameter,)), sr.Activation("g", sp.Max(z, 0))
    found = called(
        written((K1, K2, C, parameter), sr.expect2(f, relu), "numpy"), "numpy", 0.7, 2.0, rho * np.sqrt(1.4), value
    )
    x, w = legendre(20)
    fine = np.geomspace(1e-7, 20, 300)
    places = (0.0, float(np.log(np.e - 1)) / np.sqrt(0.7))
    ends = np.concatenate([np.linspace(-9.5, 9.5, 400), *(c + side * fine for c in places for side in (-1, 1))])
    ends = np.unique(np.clip(ends, -9.5, 9.5))
    half = np.diff(ends)[:, None] / 2
    y = (ends[1:] + ends[:-1])[:, None] / 2 + half * x
    mean, spread = rho * np.sqrt(2.0) * y, np.sqrt(2.0 * (1 - rho) * (1 + rho))
    inner = mean * special.ndtr(mean / spread) + spread * np.exp(-((mean / spread) ** 2) / 2) / np.sqrt(2 * np.pi)
    outer = sp.lambdify((z, parameter), formula, "numpy")(np.sqrt(0.7) * y, value)
    exact_value = np.sum(outer * inner * half * w * np.exp(-y * y / 2)) / np.sqrt(2 * np.pi)
    assert found == pytest.approx(exact_value, abs=1e-12, rel=0)


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["tanh of tanh", "sin of tanh"])
def test_gradients_are_refined_too(name):
    """In the kernel and in the parameter, against differences of values."""
    value = dict(PAIRS)[name]
    function = loaded(text(name, 2, "torch"))
    module = sr.export(
        sr.expect(sr.Activation("f", formula_of(name)[0], (formula_of(name)[1],))(z) ** 2), target="torch"
    )
    at = [torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in (0.7, value)]
    module.load().expect(*at).backward()
    for i, argument in enumerate(at):
        step = torch.tensor([1e-3 * float(argument.detach())], dtype=torch.float64)

        def moved(n, i=i, step=step):
            return function(*(a.detach() + n * step * (k == i) for k, a in enumerate(at)))

        slope = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
        assert float(argument.grad) == pytest.approx(float(slope), rel=1e-6)


# ---- what cannot be had ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_hopeless_average_is_no_number(target):
    assert np.isnan(called(text("sin of tanh", 2, target), target, 0.7, 1e6)).all()


@pytest.mark.exhaustive
def test_a_hopeless_pair_is_no_number():
    c = 0.7 * np.array([0.3, 0.99, 1.0])
    assert np.isnan(called(text("sin of tanh", 0), "numpy", np.full(3, 0.7), np.full(3, 0.7), c, np.full(3, 1e6))).all()


# ---- the check itself --------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
def test_modules_say_where_they_give_up():
    said = "nan where the function varies too fast"
    a = sp.Symbol("a", real=True)
    text = export(sr.expect(sr.Activation("f", sp.sin(a * sp.tanh(z)), (a,)), mean=sp.Rational(1, 2))).text
    assert said in " ".join(text.split())
    assert said not in " ".join(export(sr.expect2("tanh", "tanh")).text.split())
