"""Closed forms with parameters at which their terms cancel: a bound of the rounding error, and quadrature beyond it."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.planning.plan import Component
from symres.codegen.stable import primitives
from symres.codegen.stable.rewrites import stabilise
from symres.codegen.stable.rounding_error import _SLOPES, cancels, doubt, one_sign, slopes_of
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.symbols import K, z
from symres.functions import companions
from symres.functions.function_record import RECORDS
from symres.functions.records.softmax_family import SoftmaxOverlap
from tests.oracles.average import average_of
from tests.oracles.code_functions import MEANT

A, B = sp.symbols("a b", real=True)
P, Q = sp.symbols("p q", positive=True)


def phi(formula):
    return sr.Activation("f", formula, tuple(sorted(formula.free_symbols - {z}, key=str)))


WAVE = sp.sin(A * z + B)
LEAKY = sp.Piecewise((z - B, z > B), (A * (z - B), True))
CLIPPED = sp.Max(-P, sp.Min(P, z - B))
FORMULAS = {
    "1-cos": 1 - sp.cos(A * z + B),
    "sin": WAVE,
    "z*sin": z * WAVE,
    "bumps": sp.exp(-P * (z - B) ** 2) - sp.exp(-Q * (z - B) ** 2),
    "leaky": LEAKY,
    "clipped": CLIPPED,
    "exponentials": sp.exp(A * z) - sp.exp(B * z),
    "jump": sp.Heaviside(z - B, sp.Rational(1, 2)) - A,
    "erfs": sp.erf(A * z) - sp.erf(B * z),
}
HARD = [  # kernel, parameters at which a closed form loses digits
    ("1-cos", 1e-8, {"a": 0.75, "b": 0.0}),
    ("1-cos", 1e-4, {"a": 0.75, "b": 0.0}),
    ("sin", 1e-8, {"a": 0.75, "b": 0.0}),
    ("sin", 1e-2, {"a": 1e-8, "b": 1e-8}),
    ("z*sin", 1e-8, {"a": -0.75, "b": 0.0}),
    ("bumps", 1e-8, {"p": 0.75, "q": 0.5, "b": 0.0}),
    ("bumps", 0.7, {"p": 0.75, "q": 0.75 + 1e-9, "b": -2.0}),
    ("leaky", 0.01, {"a": 0.0, "b": 0.7}),
    ("leaky", 0.03, {"a": 1e4, "b": -1.0}),
    ("leaky", 0.01, {"a": 1e-8, "b": 3.0}),
    ("clipped", 1e-8, {"p": 1e4, "b": 1e-8}),
    ("clipped", 1e-4, {"p": 100.0, "b": 1e-3}),
    ("exponentials", 1e-8, {"a": 0.75, "b": 0.0}),
    ("jump", 0.01, {"a": 0.0, "b": 0.7}),
    ("erfs", 1e4, {"a": 1.5, "b": 1.501}),
]


def quadrature(formula, k, values, power=1):
    """<f**power> and <abs(f)**power> from the declaration, in 60 digits."""
    with mp.workdps(60):
        at = {s: sp.Rational(values[s.name]) for s in formula.free_symbols - {z}}
        f, place = sp.lambdify(z, formula.subs(at), "mpmath"), mp.mpf(values.get("b", 0))
        edges = [place, place - values.get("p", 0), place + values.get("p", 0)]
        return tuple(float(average_of(lambda x, a=a: a(f(x) ** power), k, edges, digits=45)) for a in (mp.mpf, abs))


@pytest.mark.sample(1)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("name", "k", "values"), HARD)
def test_values_where_terms_cancel(name, k, values, power):
    formula = FORMULAS[name]
    quantity = sr.expect(phi(formula)(z) ** power)
    assert quantity.status is sr.Status.EXACT
    exact, size = quadrature(formula, k, values, power)
    for target in ("numpy", "torch"):
        arguments = {s.name: values.get(s.name, k) for s in quantity.symbols}
        if target == "torch":
            arguments = {n: torch.tensor(v, dtype=torch.float64) for n, v in arguments.items()}
        found = float(sr.export(quantity, target).load().expect(**arguments))
        assert abs(found - exact) < 2e-12 * abs(exact) + 1e-14 * size


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "k", "values"), [case for case in HARD if case[0] != "bumps"])
def test_gradients_where_terms_cancel(name, k, values):
    """Against exact derivatives, evaluated in balls; in float32 too. (Integrands of those of bumps cancel.)"""
    quantity = sr.expect(phi(FORMULAS[name])(z) ** 2)
    function = sr.export(quantity, "torch").load().expect
    for kind, tolerance in ((torch.float64, 1e-11), (torch.float32, 3e-7)):
        at = {s.name: torch.tensor(values.get(s.name, k), dtype=kind, requires_grad=True) for s in quantity.symbols}
        function(**at).backward()
        exact_at = {n: sp.Rational(v.item()) for n, v in at.items()}
        for s in quantity.symbols:
            exact = float(sr.derivative(quantity, s.name).evalf(15, **exact_at))
            assert abs(at[s.name].grad.item() - exact) <= tolerance * abs(exact) + 1e-20


def test_pairs_where_terms_cancel():
    """<sin(a z1 + b) sin(a z2 + b)> at b = 0 is exp(-a**2 (K1 + K2)/2) sinh(a**2 C): its form has cos(2b) - 1."""
    module = sr.export(sr.expect2(phi(WAVE), phi(WAVE))).load()
    for k, c in ((1e-8, 3e-9), (1e-8, -1e-8 * (1 - 1e-12)), (1e-4, 2e-5), (0.7, 1e-9), (30.0, 7.0)):
        with mp.workdps(30):
            exact = mp.exp(-(mp.mpf("0.75") ** 2) * k) * mp.sinh(mp.mpf("0.75") ** 2 * c)
        assert float(module.expect2(k, k, c, 0.75, 0.0)) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_matrices_take_either_way_entry_by_entry():
    module = sr.export(sr.expect2(phi(WAVE), phi(WAVE))).load()
    b = np.linspace(-1e-6, 1e-6, 5)[:, None]
    c = np.linspace(-1e-6, 1e-6, 7)
    found = module.expect2(1e-6, 1e-6, c, 0.75, b)
    with mp.workdps(30):
        for i in range(5):
            for j in range(7):
                even = [mp.exp(-(mp.mpf(0.75) ** 2) * (mp.mpf(1e-6) - s * c[j])) / 2 for s in (1, -1)]
                exact = float(even[0] - mp.cos(2 * mp.mpf(b[i, 0])) * even[1])
                assert abs(found[i, j] - exact) < 1e-11 * max(abs(exact), 1e-15)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_closed_form_stays_where_integration_is_worse(target):
    """<sin(a z) exp(b z)> = exp(K (b**2 - a**2)/2) sin(K a b) is tiny beside its integrand."""
    module = sr.export(sr.expect(phi(sp.sin(A * z) * sp.exp(B * z))), target)
    assert not module.warnings
    for k, a, b in ((10.0, 3.0, 3.0), (1.0, 3.0, 1.0), (536.2, -3.404521, -3.404521), (28.14, -5.453767, -2.934871)):
        with mp.workdps(40):
            exact = mp.exp(mp.mpf(k) * (mp.mpf(b) ** 2 - mp.mpf(a) ** 2) / 2) * mp.sin(mp.mpf(k) * a * b)
        arguments = [torch.tensor(v, dtype=torch.float64) if target == "torch" else v for v in (k, a, b)]
        assert float(module.load().expect(*arguments)) == pytest.approx(float(exact), rel=1e-11, abs=0)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "quantity",
    [
        sr.expect(phi(sp.cos(A * z) - sp.cos(B * z))),
        sr.expect(phi(sp.cos(A * z) - sp.cos(B * z))(z) ** 2),
        sr.expect(phi(sp.exp(A * z) - 1 - A * z)(z) ** 2),
        sr.expect(phi(sp.erf(A * z + B) - sp.erf(B))),
    ],
    ids=["cos", "cos^2", "exp^2", "erf"],
)
def test_forms_that_cancel_at_most_parameters_have_modules(quantity):
    found = sr.export(quantity).load().expect
    for k, values in ((0.7, (0.75, 0.4)), (3.0, (-1.2, 0.3))):
        at = dict(zip([str(s) for s in quantity.symbols], (k, *values), strict=False))
        exact = float(quantity.evalf(16, **{n: sp.Rational(v) for n, v in at.items()}))
        assert float(found(**at)) == pytest.approx(exact, rel=1e-12, abs=0)


def test_without_the_check_the_value_is_wrong():
    """Sabotage: what the check is there for."""
    text = sr.export(sr.expect(phi(1 - sp.cos(A * z + B))(z) ** 2)).text
    k, exact = 1e-8, 2.373046863876344e-17  # 3 a**4 K**2/4
    for changed, right in ((text, True), (text.replace("if poor.any():", "if False:"), False)):
        space = {}
        exec(changed, space)
        assert (abs(space["expect"](k, 0.75, 0.0) - exact) < 1e-12 * exact) == right
    assert "if poor.any():" in text


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "power"), sorted({*product(FORMULAS, (1, 2))} - {("erfs", 1)}))
def test_the_bound_holds(name, power):
    """At random arguments, a closed form in floats is never off by more than a few times the bound."""
    quantity = sr.expect(phi(FORMULAS[name])(z) ** power)
    code, space = stabilise(quantity.body), np.random.default_rng(1)
    bound = doubt(code)
    assert bound is not None
    functions = []
    for formula in (code, bound):
        exec(NUMPY.standalone(Component("_average_1", quantity.symbols, quantity.body, formula)), scope := {})
        functions.append(scope["_average_1"])
    for _ in range(30):
        at = {
            s: float(10 ** space.uniform(-8, 3) if s == K else 10 ** space.uniform(-4, 1.5)) for s in quantity.symbols
        }
        if space.random() < 0.3:
            at.update({s: 0.0 for s in (A, B) if s in at})
        with np.errstate(all="ignore"):
            value, error = (float(f(*(np.array([v]) for v in at.values()))[0]) for f in functions)
        exact = quantity.evalf(25, **{s.name: sp.Rational(v) for s, v in at.items()})
        assert not abs(value - exact) > 4 * 1.1e-16 * error + 1e-300


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (K * (A**2 + 1) / 2, False),
        (1 - A, False),
        (K * P - Q, True),
        (sp.sqrt(K) * (1 - A), False),
        (P**2 - 2 * P * Q + Q**2, True),
        (sp.exp(-K * A**2), False),
        (sp.exp(-K * A**2) * sp.cos(B) + 1, True),
        (sp.erf(A / sp.sqrt(1 + 2 * K)), False),
        (sp.asin(A), True),
    ],
)
def test_what_may_cancel(formula, expected):
    assert cancels(formula) is expected


def test_terms_of_one_sign():
    assert one_sign((K, P, A**2)) and one_sign((-K, -sp.erf(P)))
    assert not one_sign((K, -P)) and not one_sign((K, A))


def test_modules_say_how_they_are_computed():
    checked = " ".join(sr.export(sr.expect(phi(WAVE)(z) ** 2)).text.split())
    plain = " ".join(sr.export(sr.expect(phi(sp.exp(-P * z**2)))).text.split())
    assert "Computed from the closed form; where its terms cancel" in checked and "_mended" in checked
    assert "Computed from the closed form." in plain and "_mended" not in plain


# all functions that compiled code spells, and those with bounds of their own
SPELLED = {kind for kind, record in RECORDS.items() if "scalar" in record.spellings}
# slopes of an overlap are overlaps, and its number of keys has none
SLOPED = sorted({*SPELLED, *_SLOPES} - {sp.Max, sp.Min, sp.Heaviside, SoftmaxOverlap}, key=lambda kind: kind.__name__)
PLACES = {1: ([0.3], [0.8], [-0.6]), 2: ([0.3, 0.8], [0.7, -0.4], [1.2, 0.1]), 3: ([1.2, 0.9, 0.3], [0.7, 1.1, -0.4]),
          4: ([0.3, 0.8, 0.5, 0.9],)}  # fmt: skip


@pytest.mark.sample(24)
@pytest.mark.parametrize("head", SLOPED, ids=lambda head: head.__name__)
def test_slopes_are_bounds_of_derivatives(head):
    """Of each function in each argument: no less than the derivative, and no more than a few times as much."""
    function = MEANT.get(head) or getattr(mp, head.__name__)
    loose = 40 if head in (primitives.TwoSigns, primitives.TwoTails) else 8
    places = ([0.3, 0.3 - 0.49, 0.7], [-0.2, -0.2 - 0.16, 0.4]) if head is companions.ScaledTail else None
    for place in places or PLACES[min(head.nargs)]:
        if head in (sp.log, companions.Log1p) and place[0] < 0:
            continue
        names = sp.symbols("u v w x", real=True)[: len(place)]
        slopes = slopes_of(head(*names))
        if head is companions.ScaledTail:  # its second argument is the first one in other words
            slopes = (slopes[0] + slopes[1], 0, slopes[2])
        for n, formula in enumerate(slopes):
            slope = sp.sympify(formula).xreplace(dict(zip(names, map(sp.Float, place), strict=True)))
            if head is companions.ScaledTail and n == 1:
                continue
            if head is sp.sign:
                assert slope == 0
                continue
            bound = slope
            while values := {e: sp.Float(MEANT[type(e)](*map(mp.mpf, e.args)), 15) for e in _innermost(bound)}:
                bound = bound.xreplace(values)
            derivative = abs(mp.diff(function, tuple(place), tuple(int(k == n) for k in range(len(place)))))
            assert derivative * (1 - 1e-6) <= float(bound) <= loose * derivative + 1e-9


def _innermost(e):
    """Functions of the code whose arguments are numbers."""
    return [f for f in sp.sympify(e).atoms(*MEANT) if not any(a.has(*MEANT) for a in f.args)]


@pytest.mark.parametrize("power", [3, -2, sp.Rational(1, 2), sp.Rational(-3, 2)])
def test_a_power_passes_on_the_error_of_its_base(power):
    """(1 + e)**n is 1 + n*e, and the power is rounded itself."""
    bound = doubt((P + Q) ** power).replace(primitives.AbsNode, sp.Abs).subs({P: 0.25, Q: 0.875})
    assert float(bound) == pytest.approx(float((abs(power) + 1) * 1.125**power), rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("formula", ["gelu(z)*relu(z)", "erf(z)*step(z - 1)"])
def test_an_angle_of_numbers_is_in_doubt_too(formula, target):
    """With a mean their closed forms have the angle of a point, one of whose coordinates is 1."""
    mean = sp.Symbol("m", real=True)
    quantity = sr.expect(formula, mean)
    function = sr.export(quantity, target).load().expect
    for kernel, m in ((1.3, 0.4), (0.01, -0.3), (100.0, 3.0)):
        at = [torch.tensor(v, dtype=torch.float64) for v in (kernel, m)] if target == "torch" else (kernel, m)
        assert float(function(*at)) == pytest.approx(float(quantity.evalf(15, K=kernel, m=m)), rel=1e-13)


@pytest.mark.parametrize("power", [2, 3, 4, sp.Rational(3, 2)])
def test_the_bound_of_a_power_of_zero_is_zero(power):
    """Not 0/0: means that vanish are the most frequent ones."""
    base = sp.Max(0, A * P + B) if power == sp.Rational(3, 2) else A * P + B
    bound = sp.lambdify([A, B, P], doubt(base**power), [{"AbsNode": abs}, "math"])
    assert bound(0.0, 0.0, 0.3) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch", "c"])
def test_means_that_vanish(target):
    function = sr.export(sr.expect2("gelu", "gelu", means=(A, B)), target=target).load().expect2
    for K1, K2, C in ((1.0, 1.0, 0.3), (2.0, 0.5, -0.9), (1.0, 1.0, 0.0)):
        root = np.sqrt((1 + K1) * (1 + K2) - C * C)  # Tsuchida and others, 2021
        rest = (C * C * (1 - K1 * K2) + K1 * K2 * (1 + K1) * (1 + K2)) / (root * (1 + K1) * (1 + K2))
        exact = C / 4 + (C * np.arcsin(C / np.sqrt((1 + K1) * (1 + K2))) + rest) / (2 * np.pi)
        numbers = [K1, K2, C, 0.0, 0.0]
        as_tensors = [torch.tensor(x, dtype=torch.float64) for x in numbers]
        average = function(*(as_tensors if target == "torch" else numbers))
        assert float(average) == pytest.approx(exact, rel=1e-9)
