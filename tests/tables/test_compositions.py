"""Averages and refusals of formulas, whose reasons are true: compositions of two functions, and formulas far out.

``Composition`` is a formula as text and as a function that says where it is not real or not finite, by mpmath alone;
``judge`` says whether the reason of a refusal holds.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import split
from symres.core.symbols import z
from symres.gaussian.quadrature.average_ball import average_ball
from tests.languages import ALL, language
from tests.oracles.average import average_of


class NotReal(Exception):
    """A function of the formula leaves its domain."""


class NotFinite(Exception):
    """A function of the formula meets a pole, or comes near one."""


FUNCTIONS: dict[str, Callable[[mp.mpf], mp.mpf]] = {
    "exp(u)": mp.exp,
    "log(u)": mp.log,
    "sqrt(u)": mp.sqrt,
    "sin(u)": mp.sin,
    "cos(u)": mp.cos,
    "tan(u)": mp.tan,
    "sinh(u)": mp.sinh,
    "cosh(u)": mp.cosh,
    "tanh(u)": mp.tanh,
    "asin(u)": mp.asin,
    "acos(u)": mp.acos,
    "atan(u)": mp.atan,
    "asinh(u)": mp.asinh,
    "atanh(u)": mp.atanh,
    "acosh(u)": mp.acosh,
    "erf(u)": mp.erf,
    "erfc(u)": mp.erfc,
    "sign(u)": mp.sign,
    "abs(u)": abs,
    "step(u)": lambda u: (1 + mp.sign(u)) / 2,
    "sigmoid(u)": lambda u: 1 / (1 + mp.exp(-u)),
    "softplus(u)": lambda u: mp.log(1 + mp.exp(u)),
    "Phi(u)": mp.ncdf,
    "u^2": lambda u: u**2,
    "u^3": lambda u: u**3,
    "abs(u)^(1/3)": lambda u: mp.cbrt(abs(u)),
    "1/u": lambda u: 1 / u,
    "2^u": lambda u: mp.power(2, u),
    "pi^-u": lambda u: mp.power(mp.pi, -u),
    "abs(u)^pi": lambda u: abs(u) ** mp.pi,
    "1 + u": lambda u: 1 + u,
    "u/3": lambda u: u / 3,
    "2 - u^2": lambda u: 2 - u**2,
    "max(u, 1/2)": lambda u: max(u, mp.mpf(1) / 2),
    "where(u > 1, u, 1)": lambda u: u if u > 1 else mp.mpf(1),
}
# what must be positive, or not negative, or not 0, for a function to be real and finite
_REAL = {
    "log(u)": lambda u: u,
    "sqrt(u)": lambda u: u,
    "asin(u)": lambda u: 1 - u**2,
    "acos(u)": lambda u: 1 - u**2,
    "atanh(u)": lambda u: 1 - u**2,
    "acosh(u)": lambda u: u - 1,
}
_FINITE = {"log(u)": lambda u: u, "tan(u)": mp.cos, "atanh(u)": lambda u: 1 - u**2, "1/u": lambda u: u}
_NEAR = 1e-3  # of a pole, whose place messages print with six digits


def _strict(name: str, u: mp.mpf) -> mp.mpf:
    if name in _REAL and _REAL[name](u) < 0:
        raise NotReal
    if name in _FINITE and abs(_FINITE[name](u)) < _NEAR:
        raise NotFinite
    return FUNCTIONS[name](u)


_ARGUMENT = re.compile(r"\bu\b")


@dataclass(frozen=True)
class Composition:
    """``outer(inner(z))``, by their texts."""

    outer: str
    inner: str

    @property
    def text(self) -> str:
        """The formula."""
        return _ARGUMENT.sub(f"({_ARGUMENT.sub('z', self.inner)})", self.outer)

    def __call__(self, x: mp.mpf) -> mp.mpf:
        """Its value; ``sqrt(z)^2`` has one for z < 0 too."""
        return mp.re(FUNCTIONS[self.outer](FUNCTIONS[self.inner](mp.mpf(x))))

    def strictly(self, x: mp.mpf) -> mp.mpf:
        """The same, if both functions are real there and no pole is near.

        Raises:
            NotReal, NotFinite: they are not.
        """
        return _strict(self.outer, _strict(self.inner, mp.mpf(x)))


def judge(composition: Composition, reason: str) -> bool:
    """Whether the reason of a refusal holds, by values of the formula.

    Raises:
        AssertionError: nobody has said how to judge this reason.
    """
    for pattern, holds in _REASONS:
        if match := re.search(pattern, reason):
            return holds(composition, *match.groups())
    raise AssertionError(f"how is {reason!r} judged?")


def _number(text: str) -> mp.mpf:
    top, _, bottom = text.partition("/")
    return mp.mpf(top) / mp.mpf(bottom or 1)


def _raises(composition: Composition, error: type[Exception], places: list[mp.mpf]) -> bool:
    for place in places:
        try:
            composition.strictly(place)
        except error:
            return True
        except (NotReal, NotFinite):
            continue
    return False


def _between(composition: Composition, kind: str, left: str, right: str) -> bool:
    low, high = (None if end.endswith("oo") else _number(end) for end in (left, right))
    start = low if low is not None else (high - 3 if high is not None else mp.mpf(-3))
    end = high if high is not None else start + 3
    places = [start + (end - start) * k / mp.mpf(7) for k in range(1, 7)]
    return _raises(composition, NotReal if kind == "real" else NotFinite, places)


def _kink(composition: Composition, place: str) -> bool:
    """Slopes on both sides that differ, or grow towards the place."""
    p, h = _number(place), mp.mpf(10) ** -8
    right, left = (composition(p + h) - composition(p)) / h, (composition(p) - composition(p - h)) / h
    return abs(right - left) > 1e-3


def _grows(composition: Composition, rate: str | None, sides: str) -> bool:
    """``log|f|/z**2`` comes to the rate, or grows."""
    holds = True
    for side in sides.split(" and "):
        direction = -1 if side == "-oo" else 1
        near, far = (mp.log(abs(composition(direction * mp.mpf(t)))) / mp.mpf(t) ** 2 for t in (12, 24))
        expected = far > near > 0
        if rate is not None:
            number = eval(rate.replace("^", "**"), {"log": mp.log, "pi": mp.pi, "z": mp.mpf(1), "exp": mp.exp})
            expected = abs(far / number - 1) < 0.05
        holds = holds and expected
    return holds


def _constant(composition: Composition) -> bool:
    return len({mp.nstr(composition(mp.mpf(k) / 7), 12) for k in range(-30, 30) if k}) == 1


def _has(*functions: str) -> Callable[[Composition], bool]:
    """Whether the text has one of some functions."""
    return lambda composition: any(f"{name}(" in composition.text for name in functions)


_REASONS: tuple[tuple[str, Callable[..., bool]], ...] = (
    (r"is not real at z = (\S+?);", lambda f, p: _raises(f, NotReal, [_number(p)])),
    (r"is not finite (?:at|near) z = (\S+?);", lambda f, p: _raises(f, NotFinite, [_number(p)])),
    (r"it is not (real|finite) between (\S+) and (\S+?);", _between),
    (r"is not smooth at z = (\S+?);", _kink),
    (r"no Gaussian average for K >= \S+: it may grow like exp\((\S+)\) for z -> (.*?);", _grows),
    (r"no Gaussian average: it may grow like exp\(c\*z\^2\) or faster for z -> (.*?);",
     lambda f, sides: _grows(f, None, sides)),
    (r"the formula does not (?:depend on|contain) z", _constant),
    (r"its zeros are infinitely many",
     _has("sin", "cos", "tan", "erf", "erfc", "Phi")),  # zeros of a sine, values of inverses
    (r"could not be shown to be finite for z -> ", _has("sin", "cos", "tan")),
    (r"is constant|vanishes", _constant),
)  # fmt: skip


PAIRS = [Composition(outer, inner) for outer, inner in product(FUNCTIONS, FUNCTIONS)]
_DIGITS = 60


@pytest.mark.sample(60)
@pytest.mark.parametrize("composition", PAIRS, ids=[pair.text for pair in PAIRS])
def test_the_average_is_right_or_the_reason_of_the_refusal_true(composition):
    try:
        phi = sr.activation(composition.text)
        value = sr.expect(phi).evalf(15, K="1/2")
    except sr.SymresError as refusal:
        with mp.workdps(_DIGITS):
            assert judge(composition, f"{refusal};"), str(refusal)
        return
    with mp.workdps(_DIGITS):
        breaks = [mp.mpf(str(b.evalf(_DIGITS))) for b in phi.breakpoints]
    exact = average_of(composition, "0.5", breaks)
    size = average_of(lambda u: abs(composition(u)), "0.5", breaks, digits=4)
    assert abs(value - exact) <= 1e-12 * size


# powers of numbers, as they are typed
POWERS = ["2^z", "1/(1 + 2^-z)", "2^z/(1 + 2^z)", "z*2^(-z^2)", "log(1 + 2^z)", "pi^z", "(1 + z^2)^sin(z)/(1 + z^2)"]


def second_moment(text, k):
    return float(average_of(sp.sympify(text.replace("^", "**")) ** 2, k))


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_goes_through_derive_and_advice(text):
    theory = sr.derive(sr.mlp(text))
    for k in (0.3, 1.1):
        assert float(theory.kernel_map.evalf(K=k, C_W=1, C_b=0)) == pytest.approx(second_moment(text, k), rel=1e-13)
    assert "in the layer mlp" in theory.page()
    assert theory.advice(depth=10, width=100).reasons


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_is_checked(text):
    """Simulations of averages that a few of all networks make up are inconclusive, and say so."""
    report = sr.check(sr.derive(sr.mlp(text)), quantities=["kernel_map", "chi_perp"])
    unsure = [verdict for verdict in report.verdicts if verdict.outcome.value != "PASSED"]
    assert not unsure or text == "pi^z"
    for verdict in unsure:
        assert (verdict.oracle, verdict.outcome.value) == ("simulation", "INCONCLUSIVE")
        assert "a few networks dominate the average" in verdict.remarks[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_is_exported(text, target):
    tool = language(target)
    found = tool.value(tool.load(sr.derive(sr.mlp(text)).kernel_map).kernel_map, 1.1, 1.0, 0.0)
    assert float(found) == pytest.approx(second_moment(text, 1.1), rel=1e-9)


DENSITY = lambda u: mp.exp(-(u**2) / 2) / mp.sqrt(2 * mp.pi)  # noqa: E731
HAZARD = "log(z*Phi(z) + exp(-z^2/2)/sqrt(2*pi))"

# formula, kernel, its average where it is known from elsewhere, the function in mpmath
FAR_OUT = [
    ("log(Phi(z))", 1, -1, lambda u: mp.log(mp.ncdf(u))),
    ("log(Phi(z))", "1/2", -0.84910372015, lambda u: mp.log(mp.ncdf(u))),
    ("log(1 - Phi(z))", 1, -1, lambda u: mp.log(mp.ncdf(-u))),
    ("Phi(z)*log(Phi(z))", 1, -0.25, lambda u: mp.ncdf(u) * mp.log(mp.ncdf(u))),
    ("exp(-z^2/2)/Phi(z)", 1, 2.26397985358, lambda u: mp.exp(-(u**2) / 2) / mp.ncdf(u)),
    ("Phi(2*z)/Phi(z)", 1, 0.771877623464, lambda u: mp.ncdf(2 * u) / mp.ncdf(u)),
    (HAZARD, "1/2", -1.06038434363, lambda u: mp.log(u * mp.ncdf(u) + DENSITY(u))),
    ("log(erfc(z/sqrt(2)))", 1, None, lambda u: mp.log(mp.erfc(u / mp.sqrt(2)))),
    ("log(erfc(z/3))", 1, None, lambda u: mp.log(mp.erfc(u / 3))),
    ("log(erfc(7*z/5))", 2, None, lambda u: mp.log(mp.erfc(7 * u / 5))),
    ("sqrt(Phi(z))", 3, None, lambda u: mp.sqrt(mp.ncdf(u))),
    ("log(Phi(z - 1) + Phi(3*z))", 1, None, lambda u: mp.log(mp.ncdf(u - 1) + mp.ncdf(3 * u))),
    ("asin(Phi(z))", 1, None, lambda u: mp.asin(mp.ncdf(u))),
    ("acos(erf(z)^2)", 1, None, lambda u: mp.acos(mp.erf(u) ** 2)),
    ("acos(1/(1 + z^2))", 1, None, lambda u: mp.acos(1 / (1 + u**2))),
    ("asin(2*z/(1 + z^2))^2", 1, None, lambda u: mp.asin(2 * u / (1 + u**2)) ** 2),
    ("atanh(z/(1 + z^2))^2", 1, None, lambda u: mp.atanh(u / (1 + u**2)) ** 2),
    ("acosh(2 + z^2)", 1, None, lambda u: mp.acosh(2 + u**2)),
    ("acosh(1 + z^2)", 1, None, lambda u: mp.acosh(1 + u**2)),
    ("softplus(exp(z))", 1, None, lambda u: mp.log1p(mp.exp(mp.exp(u)))),
    ("atanh(sigmoid(z))", 1, None, lambda u: mp.atanh(1 / (1 + mp.exp(-u)))),
    ("max(cosh(z), 2)", 1, None, lambda u: max(mp.cosh(u), 2)),
    ("2^(-z^2)*(1 + z^2)^sin(z)", 1, None, lambda u: mp.power(2, -(u**2)) * (1 + u**2) ** mp.sin(u)),
]  # fmt: skip
BREAKS = {"asin(2*z/(1 + z^2))^2": (-1, 0, 1), "max(cosh(z), 2)": (-math.acosh(2), 0, math.acosh(2))}


@pytest.mark.parametrize(("formula", "k", "known", "function"), FAR_OUT, ids=[f"{r[0]} at {r[1]}" for r in FAR_OUT])
def test_averages_of_formulas_that_cancel_or_underflow_far_out(formula, k, known, function):
    value = sr.expect(formula).evalf(15, K=k)
    assert abs(value / average_of(function, k, BREAKS.get(formula, ())) - 1) < 1e-13
    assert known is None or abs(value / known - 1) < 5e-12


@pytest.mark.parametrize("expr", [sp.atanh(z / (1 + z**2)), sp.acosh(2 + z**2), 2**z, sp.pi ** (-(z**2))], ids=str)
def test_functions_of_sympy_are_those_of_the_text(expr):
    text = str(expr).replace("**", "^")
    assert sr.Activation("a", expr).expr == sr.Activation("a", text).expr == sr.activation(text).expr


def test_the_text_of_an_activation_may_name_activations():
    assert sr.Activation("a", "relu(z)^2").expr == sr.activation("relu(z)^2").expr


OUTGROWS = [sp.exp(z**2), sp.exp(sp.exp(z)), 1 / (1 + sp.erf(z))]


@pytest.mark.parametrize("formula", OUTGROWS, ids=str)
def test_what_is_said_to_outgrow_the_weight_does(formula):
    """At the variance 2 the integrand grows."""
    from flint import arb

    with pytest.raises(sr.DeclarationError, match="outgrows the Gaussian weight"):
        average_ball((split(formula),), (arb(2),), 66)
    function = sp.lambdify(z, formula, "mpmath")
    with mp.workdps(1000):
        integrand = [max(abs(function(s * x)) for s in (-1, 1)) * mp.exp(-(mp.mpf(x) ** 2) / 4) for x in (5, 10, 20)]
    assert integrand[0] < integrand[1] < integrand[2]


def test_a_bound_that_is_not_reached_is_called_so():
    """The product decays, but its factors are beyond the range of balls far out."""
    from flint import arb

    with pytest.raises(sr.SymresError, match="its tails could not be bounded"):
        average_ball((split(sp.exp(sp.exp(z)) * sp.erfc(sp.exp(z))),), (arb(1),), 66)


def test_every_function_of_the_grammar_is_composed():
    from symres.activations.formula_parser import PARSED_FUNCTIONS

    composed = " ".join(FUNCTIONS)
    aliases = {"ln", "min", "clip"}  # log, max of negatives, and a maximum in a minimum
    assert not [name for name in PARSED_FUNCTIONS if f"{name}(" not in composed and name not in aliases]
