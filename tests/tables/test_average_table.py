"""Every average of every catalogue activation, through the public door, against quadrature to 30 digits.

<f>, <f^2>, <f'^2>, <f^4> in one input and <f f>, <f' f'>, <f^2 f^2> in two; the oracle has its own formulas of the
activations and shares nothing with the engine. It is itself compared with averages that everybody knows, and with
defects that it must notice.
"""

import ast
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import pytest
import sympy as sp
from flint import arb

import symres as sr
from symres.results.quantity import Quantity, Status
from tests.oracles import kernels, panels30
from tests.oracles.panels30 import Unsettled
from tests.oracles.quadrature30 import average, average2
from tests.oracles.sections import CATALOGUE, OF_ONE, OF_TWO, PARAMETERS, Sections, sections, x

R = sp.Rational
DIGITS, TOLERANCE = 30, mp.mpf(10) ** -28

VARIANCES = [R(37, 10**7), R(83, 61), R(1907)]
PAIR_LAWS = [(R(71, 83), R(-37, 90), R(97, 71)), (R(113, 29), R(211, 97), R(31, 17))]  # (K1, C, K2)
# further ones for numbers by quadrature: equal and very unequal kernels
WIDE_KERNELS = [R(1, 10**12), R(1, 100), R(10**4), R(10**6)]
WIDE_LAWS = [
    (one**2, correlation * one * two, two**2)
    for one, correlation, two in (
        (R(1, 10**6), R(1, 2), R(1, 10**6)),
        (R(1000), R(-3, 10), R(1000)),
        (R(1, 10**6), R(1, 2), R(1000)),
        (R(1, 1000), R(-9, 10), R(10)),
    )
]

# no closed form is known: a quotient of exponentials, or of polynomials, under a Gaussian
NUMERIC = ["gelu_tanh", "tanh", "sigmoid", "silu", "swish", "softplus", "log_sigmoid", "mish", "tanhshrink", "softsign"]
SYMMETRIC = ["tanh", "sigmoid", "tanhshrink", "softsign"]  # of these <f>, 0 or 1/2, is known all the same
STEPS = ["sign", "step"]
JUMPS = [*STEPS, "hardshrink", "threshold"]
EXACT = [name for name in sr.activations if name not in NUMERIC]


def integrand(name: str, average: str) -> sp.Expr:
    """As a user writes it."""
    phi = sr.activations[name](sr.z)
    return (OF_ONE | OF_TWO)[average](phi, phi.diff(sr.z))


def expected(name: str, average: str) -> Sections:
    """The oracle's version of it."""
    function = sections(name)
    return (OF_ONE | OF_TWO)[average](function, function.slope)


def one(name: str, average: str) -> Quantity:
    return sr.expect(integrand(name, average))


def two(name: str, average: str) -> Quantity:
    return sr.expect2(*[integrand(name, average)] * 2)


def value(quantity: Quantity, *names: str, **kernels: sp.Rational) -> mp.mpf:
    """With a radius that leaves all digits."""
    given = kernels | {key: number for name in names for key, number in PARAMETERS.get(name, {}).items()}
    found, radius = quantity.enclosure(DIGITS, **{s.name: given[s.name] for s in quantity.symbols})
    assert radius <= abs(found) * mp.mpf(10) ** -DIGITS
    return found


@pytest.mark.sample(22)
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("average_of", OF_ONE)
def test_one_input(name: str, average_of: str) -> None:
    if name in JUMPS and average_of == "f'^2":
        return the_slope_of_a_jump_has_no_mean_square(name)
    quantity = one(name, average_of)
    for kernel in VARIANCES + WIDE_KERNELS * (name in NUMERIC):
        measured = average(expected(name, average_of), kernel)
        assert measured.distance(value(quantity, name, K=kernel)) < TOLERANCE, (kernel, quantity)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("average_of", OF_TWO)
def test_two_inputs(name: str, average_of: str) -> None:
    if name in JUMPS and average_of == "f' f'":
        return (slopes_of_jumps_are_deltas if name in STEPS else slopes_are_those_of_the_average)(name)
    quantity = two(name, average_of)
    is_wide = name in NUMERIC and (name, average_of) != ("tanhshrink", "f^2 f^2")  # too much cancels in z - tanh(z)
    for law in PAIR_LAWS + WIDE_LAWS * is_wide:
        measured = average2(*[expected(name, average_of)] * 2, law)
        claimed = value(quantity, name, K1=law[0], C=law[1], K2=law[2])
        assert measured.distance(claimed) < TOLERANCE, (law, quantity)


DIFFERENT = [
    *(("gelu", name) for name in ("relu", "erf", "sin", "snake", "gaussian_slope", "bell", "square", "cube", "elu")),
    *(("relu", name) for name in ("gelu", "snake", "sign", "hard_swish")),
    *(("hard_tanh", name) for name in ("square", "cube", "elu")),
    *(("erf", "scale_invariant"), ("elu", "cube"), ("hard_swish", "square"), ("relu6", "cube"), ("mish", "silu")),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("names", DIFFERENT, ids=" x ".join)
def test_two_functions(names: tuple[str, str]) -> None:
    quantity = sr.expect2(*(sr.activations[name](sr.z) for name in names))
    assert quantity.status is (Status.NUMERIC if "mish" in names else Status.EXACT)
    for K1, C, K2 in PAIR_LAWS:
        measured = average2(*map(sections, names), (K1, C, K2))
        assert measured.distance(value(quantity, *names, K1=K1, C=C, K2=K2)) < TOLERANCE, (C, quantity)


def the_slope_of_a_jump_has_no_mean_square(name: str) -> None:
    """<f'^2> is infinite, and reported as that."""
    quantity = one(name, "f'^2")
    assert quantity.expr == sp.oo
    assert quantity.evalf(K=1) == mp.inf


def slopes_of_jumps_are_deltas(name: str) -> None:
    """<f'(z1) f'(z2)> is the height of the jump squared times the density of (z1, z2) at 0."""
    quantity = two(name, "f' f'")
    ((_, height),) = sections(name).jumps()
    for K1, C, K2 in PAIR_LAWS:
        with mp.workdps(40):
            density = 1 / (2 * mp.pi * mp.sqrt(mp.mpf(sp.numer(K1 * K2 - C**2)) / sp.denom(K1 * K2 - C**2)))
            claimed = quantity.evalf(digits=DIGITS, K1=K1, C=C, K2=K2)
            assert abs(claimed / (height**2 * density) - 1) < TOLERANCE, quantity


def slopes_are_those_of_the_average(name: str) -> None:
    """<f'(z1) f'(z2)>, deltas of jumps beside slopes, is d<f(z1) f(z2)>/dC, here by a difference of two averages."""
    quantity, step = two(name, "f' f'"), R(1, 10**6)
    for K1, C, K2 in PAIR_LAWS:
        high, low = (average2(*[sections(name)] * 2, (K1, c, K2)).value for c in (C + step, C - step))
        claimed = value(quantity, name, K1=K1, C=C, K2=K2)
        assert abs(claimed - (high - low) / (2 * mp.mpf(10) ** -6)) < 1e-10 * abs(claimed), quantity


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", EXACT)
def test_what_is_closed(name: str) -> None:
    found = {average_of: one(name, average_of) for average_of in OF_ONE if not (name in JUMPS and "'" in average_of)}
    found |= {average_of: two(name, average_of) for average_of in OF_TWO if not (name in JUMPS and "'" in average_of)}
    assert [average_of for average_of, q in found.items() if q.status is not Status.EXACT] == []
    for average_of, quantity in found.items():
        assert not quantity.expr.has(sp.Integral, sp.nan, sp.zoo), (average_of, quantity)
        assert quantity.verifications, average_of


@pytest.mark.parametrize("name", NUMERIC)
def test_what_is_not_closed_says_why(name: str) -> None:
    found = {average_of: one(name, average_of) for average_of in OF_ONE} | {key: two(name, key) for key in OF_TWO}
    closed = {average_of for average_of, q in found.items() if q.status is Status.EXACT}
    assert closed == ({"f"} if name in SYMMETRIC else set())
    for average_of, quantity in found.items():
        assert quantity.status in (Status.EXACT, Status.NUMERIC), average_of
        assert bool(quantity.reason) == (quantity.status is Status.NUMERIC), average_of


R = sp.Rational
KERNELS = [R(1, 10**12), R(3, 10**6), R(7, 5), R(2000), R(10**6)]
LAWS = [(R(4, 5), R(-2, 5), R(7, 6)), (R(3, 2), R(9, 8), R(1)), (R(1, 10**6), R(9, 10**6), R(100)), (R(50), R(1), R(2))]
HARD_TANH, RELU, GELU = (sections(name) for name in ("hard_tanh", "relu", "gelu"))

# <f>_K, by hand
LINE = {
    "z^4": (sections("linear") ** 4, lambda k: 3 * k**2),
    "exp(z)": (Sections((), (sp.exp(x),)), lambda k: mp.exp(k / 2)),
    "relu": (RELU, lambda k: mp.sqrt(k / (2 * mp.pi))),
    "erf^2": (sections("erf") ** 2, lambda k: 2 / mp.pi * mp.asin(2 * k / (1 + 2 * k))),
    "gelu^2": (
        GELU**2,
        lambda k: k / 4 + k / (2 * mp.pi) * (mp.asin(k / (1 + k)) + 2 * k / ((1 + k) * mp.sqrt(1 + 2 * k))),
    ),
    "hard_tanh^2": (
        HARD_TANH**2,
        lambda k: mp.erfc(1 / mp.sqrt(2 * k)) + k * mp.gammainc(R(3, 2), 0, 1 / (2 * k), regularized=True),
    ),
    "bell": (sections("bell"), lambda k: 1 / mp.sqrt(1 + k)),
    "cos^2": (sections("cos") ** 2, lambda k: (1 + mp.exp(-2 * k)) / 2),
}


# beyond, exp(z) has its weight further out than the oracle looks
ONE = [(name, k) for name in LINE for k in KERNELS if name != "exp(z)" or k < 100]


@pytest.mark.sample(26)
@pytest.mark.parametrize(("name", "kernel"), ONE, ids=str)
def test_one_variable(name: str, kernel: sp.Rational) -> None:
    function, expected = LINE[name]
    with mp.workdps(60):
        assert average(function, kernel).distance(expected(mp.mpf(kernel.p) / kernel.q)) < 1e-30


def test_what_lies_too_far_out_is_refused() -> None:
    with pytest.raises(Unsettled):
        average(LINE["exp(z)"][0], R(10**4))


# <f(z1) f(z2)>, by hand
PLANE = {
    "relu": kernels.relu,
    "erf": kernels.erf,
    "gelu": kernels.gelu,
    "square": lambda K1, K2, C: K1 * K2 + 2 * C * C,
    "sin": lambda K1, K2, C: mp.exp(-(K1 + K2) / 2) * mp.sinh(C),
    "sign": lambda K1, K2, C: 2 / mp.pi * mp.asin(C / mp.sqrt(K1 * K2)),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", PLANE)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_two_variables(name: str, law: tuple[sp.Rational, ...]) -> None:
    with mp.workdps(60):
        K1, C, K2 = (mp.mpf(v.p) / v.q for v in law)
        expected = PLANE[name](K1, K2, C)
        assert average2(sections(name), sections(name), law).distance(expected) < 1e-29


def test_different_functions_of_the_two_variables() -> None:
    """<relu(z1) z2^3>: z2 given z1 is normal with mean s*z1 and variance v, and <z^4; z > 0> = 3 K^2/2."""
    K1, C, K2 = law = (R(3, 4), R(1, 2), R(2))
    s, v = C / K1, K2 - C**2 / K1
    expected = s**3 * 3 * K1**2 / 2 + 3 * s * v * K1 / 2
    with mp.workdps(50):
        assert average2(RELU, sections("cube"), law).distance(mp.mpf(expected.p) / expected.q) < 1e-30


@pytest.mark.parametrize("share", [R(1, 10**28), R(-1, 10**28)])
def test_a_claim_that_is_wrong_in_the_29th_digit_is_seen(share: sp.Rational) -> None:
    with mp.workdps(60):
        one, two = average(GELU**2, R(1)), average2(RELU, RELU, LAWS[0])
        for measured in (one, two):
            assert measured.distance(measured.value) < 1e-31
            assert measured.distance(measured.value * (1 + mp.mpf(share.p) / share.q)) > 0.99e-28


def test_zero_is_judged_by_what_cancels() -> None:
    odd = average(sections("tanh"), R(2))
    assert odd.distance(mp.mpf(0)) < 1e-38
    assert odd.distance(mp.mpf(10) ** -20) > 1e-21


@pytest.mark.exhaustive
def test_a_forgotten_break_never_settles() -> None:
    """A kink inside a panel costs so many digits that the two rules cannot agree."""
    forgotten = Sections((), (sp.Abs(x - R(1, 3)),))
    with pytest.raises(Unsettled):
        average(forgotten, R(1))
    with pytest.raises(Unsettled):
        average2(forgotten, RELU, LAWS[0])
    with mp.workdps(40):
        b = mp.mpf(1) / 3
        given = Sections((R(1, 3),), (R(1, 3) - x, x - R(1, 3)))
        assert average(given, R(1)).distance(2 * mp.npdf(b) + b * mp.erf(b / mp.sqrt(2))) < 1e-30


@pytest.mark.exhaustive
@pytest.mark.parametrize("spoilt", panels30.RULES)
def test_a_wrong_weight_is_seen(monkeypatch: pytest.MonkeyPatch, spoilt: int) -> None:
    """One weight of either rule, wrong in the 25th digit."""

    def legendre(count: int) -> list[tuple[arb, arb]]:
        factor = 1 + arb(10) ** -25
        return [(t, w * factor if (count, k) == (spoilt, 20) else w) for k, (t, w) in enumerate(right(count))]

    right = panels30.legendre
    monkeypatch.setattr("tests.oracles.quadrature30.legendre", legendre)
    with pytest.raises(Unsettled):
        average(RELU, R(1))
    with pytest.raises(Unsettled):
        average2(RELU, RELU, LAWS[0])


def test_what_lies_beyond_the_reach_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels30, "REACHES", (6,))
    with pytest.raises(Unsettled):
        average(RELU, R(1))
    with pytest.raises(Unsettled):
        average2(RELU, RELU, LAWS[0])


@pytest.mark.parametrize("module", ["sections", "panels30", "quadrature30"])
def test_the_oracle_shares_nothing_with_its_subject(module: str) -> None:
    tree = ast.parse((Path(__file__).parents[1] / "oracles" / f"{module}.py").read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [name for name in names if name.startswith("symres")]


def test_measured_is_judged_by_its_error() -> None:
    measured = average(RELU, R(1))
    assert replace(measured, error=measured.value / 10).distance(measured.value) > 0.09
