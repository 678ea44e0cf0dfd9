"""Ball arithmetic against mpmath: containment, accuracy, precision raising, bad values."""

import random
from fractions import Fraction

import mpmath as mp
import pytest
import sympy as sp
from flint import acb, arb, ctx

from symres.core.atoms import Opaque
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from symres.functions.balls import compile_ball, enclose, evaluate, to_ball
from symres.functions.balls.far_form import error_arguments, far_form
from symres.functions.companions import Sigmoid

x, y = sp.symbols("x y", real=True)
u, v = sp.symbols("u v", positive=True)

# (formula, the same in mpmath with no hand in common with the rewrites of the compiler)
EXPONENTIALS = [
    (sp.log(sp.cosh(x)), lambda x, y: mp.log(mp.cosh(x))),
    (sp.log(1 + sp.exp(x) + sp.exp(-x)), lambda x, y: mp.log(1 + mp.exp(x) + mp.exp(-x))),
    (sp.log(sp.Rational(2, 3) * sp.cosh(x / 2)), lambda x, y: mp.log(2 * mp.cosh(x / 2) / 3)),
    (sp.atan(sp.sinh(x)), lambda x, y: mp.atan(mp.sinh(x))),
    (sp.atan(sp.sinh(x) + 3), lambda x, y: mp.atan(mp.sinh(x) + 3)),
    (sp.atan(3 * sp.exp(x / 2) + sp.exp(-x / 3)), lambda x, y: mp.atan(3 * mp.exp(x / 2) + mp.exp(-x / 3))),
    (sp.asin(sp.tanh(x)), lambda x, y: 2 * mp.atan(mp.tanh(x / 2))),
    (sp.asin(sp.sinh(x) / (2 + sp.cosh(x))), lambda x, y: mp.atan(mp.sinh(x) / mp.sqrt(5 + 4 * mp.cosh(x)))),
    (sp.acos(sp.tanh(x) / 2), lambda x, y: mp.acos(mp.tanh(x) / 2)),
    (sp.atanh(sp.tanh(x) / 2), lambda x, y: mp.atanh(mp.tanh(x) / 2)),
    (x * sp.sinh(x) / (1 + sp.cosh(2 * x)) ** 2, lambda x, y: x * mp.sinh(x) * mp.sech(x) ** 4 / 4),
    (x * sp.exp(x) / (1 + sp.exp(x)) ** 2, lambda x, y: x * mp.sech(x / 2) ** 2 / 4),
    (sp.sqrt(1 - sp.tanh(x) ** 2), lambda x, y: mp.sech(x)),
    (1 / sp.sqrt(1 + 3 * sp.exp(2 * x)), lambda x, y: 1 / mp.sqrt(1 + 3 * mp.exp(2 * x))),
    ((2 + sp.exp(3 * x)) ** sp.Rational(-2, 3), lambda x, y: mp.cbrt(2 + mp.exp(3 * x)) ** -2),
]
REAL = [
    *EXPONENTIALS,
    (sp.tanh(x) ** 2, lambda x, y: mp.tanh(x) ** 2),
    (x**3 - y**5 + x**4 / y**3, lambda x, y: x**3 - y**5 + x**4 / y**3),
    (x / (1 + sp.exp(-x)), lambda x, y: x / (1 + mp.exp(-x))),
    (1 / (1 + sp.exp(3 * x)) ** 4, lambda x, y: 1 / (1 + mp.exp(3 * x)) ** 4),
    (sp.log(1 + sp.exp(x)), lambda x, y: mp.log1p(mp.exp(x))),
    (sp.log(1 + x**2), lambda x, y: mp.log1p(x * x)),
    (sp.log(1 - sp.tanh(x) ** 2), lambda x, y: -2 * mp.log(mp.cosh(x))),
    (1 - sp.erf(x), lambda x, y: mp.erfc(x)),
    (y - y * sp.erf(x), lambda x, y: y * mp.erfc(x)),
    (y + y * sp.erf(x), lambda x, y: y * mp.erfc(-x)),
    (2 - 2 * sp.tanh(x) ** 2, lambda x, y: 2 * mp.sech(x) ** 2),
    (y * sp.tanh(x) ** 2 - y, lambda x, y: -y * mp.sech(x) ** 2),
    (x / 2 * (1 + sp.tanh(x + x**3 / 5)), lambda x, y: x / (1 + mp.exp(-2 * (x + x**3 / 5)))),
    (y - y * sp.tanh(x), lambda x, y: 2 * y / (1 + mp.exp(2 * x))),
    (sp.exp(x) - 1, lambda x, y: mp.expm1(x)),
    (3 * x - 3 * x * sp.exp(x * y), lambda x, y: -3 * x * mp.expm1(x * y)),
    (sp.cosh(x) ** -3 + sp.sinh(x), lambda x, y: mp.sech(x) ** 3 + mp.sinh(x)),
    (sp.sqrt(1 + x**2) ** 3, lambda x, y: mp.sqrt(1 + x * x) ** 3),
    (1 / sp.sqrt(2 + sp.cos(x)), lambda x, y: 1 / mp.sqrt(2 + mp.cos(x))),
    ((2 + sp.cos(x)) ** sp.Rational(1, 3), lambda x, y: mp.cbrt(2 + mp.cos(x))),
    (2**x, lambda x, y: mp.mpf(2) ** x),
    (sp.atan(x) * sp.asinh(y), lambda x, y: mp.atan(x) * mp.asinh(y)),
    (sp.acosh(2 + x**2), lambda x, y: mp.acosh(2 + x * x)),
    (sp.acos(x / (1 + x**2)) + sp.asin(x / 60), lambda x, y: mp.acos(x / (1 + x * x)) + mp.asin(x / 60)),
    (sp.atan2(x, y), lambda x, y: mp.atan2(x, y)),
    (sp.tan(x) + sp.sin(y) * sp.cos(x), lambda x, y: mp.tan(x) + mp.sin(y) * mp.cos(x)),
    (sp.erfc(x) + sp.erfi(y / 10), lambda x, y: mp.erfc(x) + mp.erfi(y / 10)),
    (sp.I * sp.erf(sp.I * x / 10), lambda x, y: -mp.erfi(x / 10)),
    (
        sp.Abs(x) + sp.sign(x) * sp.Max(x, y, 1) - sp.Min(x, y),
        lambda x, y: abs(x) + mp.sign(x) * max(x, y, 1) - min(x, y),
    ),
    (sp.Heaviside(x - y), lambda x, y: mp.mpf(x > y)),
    (
        sp.Piecewise((x, x < y), (x**2, (x > 1) & (y <= 3)), (sp.sin(x), True)),
        lambda x, y: x if x < y else x * x if x > 1 and y <= 3 else mp.sin(x),
    ),
    (x / 10 + sp.pi + sp.E + sp.EulerGamma + sp.Catalan, lambda x, y: x / 10 + mp.pi + mp.e + mp.euler + mp.catalan),
]


def points(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        yield (
            Fraction(rng.randint(-50, 50), rng.randint(1, 9)),
            Fraction(rng.randint(-50, 50) * 2 + 1, rng.randint(1, 9)),
        )


def exact(ball):
    """A ball as two mpf ends, exactly."""
    ends = []
    for end in (ball.lower(), ball.upper()):
        mantissa, exponent = end.man_exp()
        ends.append(mp.ldexp(mp.mpf(int(mantissa)), int(exponent)))
    return ends


@pytest.mark.parametrize(("formula", "oracle"), REAL, ids=[str(f) for f, _ in REAL])
def test_the_exact_value_is_inside_a_narrow_ball(formula, oracle):
    with mp.workdps(80), ctx.workprec(300):
        for a, b in points(str(formula), 12):
            ball = enclose(formula, {x: a, y: b}, 170)
            value = oracle(mp.mpf(a.numerator) / a.denominator, mp.mpf(b.numerator) / b.denominator)
            low, high = exact(ball)
            slack = abs(value) * mp.mpf(10) ** -70
            assert low - slack <= value <= high + slack
            assert high - low <= mp.mpf(10) ** -40 * max(abs(value), mp.mpf(10) ** -200)  # relative, hence the rewrites


def test_small_arguments_of_hyperbolic_quotients_keep_their_digits():
    for formula in (sp.atan(sp.sinh(x)), sp.asin(sp.tanh(x)), sp.sinh(x) / (1 + sp.cosh(x))):
        assert enclose(formula, {x: "1e-30"}, 170).rel_accuracy_bits() > 160


def test_a_logarithm_of_what_vanishes_elsewhere_is_finite():
    with mp.workdps(50):
        low, high = exact(enclose(sp.log((sp.exp(x) - 2) ** 2), {x: "1/2"}, 120))
        assert low <= 2 * mp.log(2 - mp.exp(mp.mpf(1) / 2)) <= high


@pytest.mark.parametrize(
    ("formula", "oracle"),
    [row for row in REAL if not row[0].has(sp.Abs, sp.Heaviside, sp.Piecewise, sp.atan2, sp.I)],
    ids=lambda value: str(value) if isinstance(value, sp.Expr) else "oracle",
)
def test_complex_values_continue_the_real_ones(formula, oracle):
    with mp.workdps(50), ctx.workprec(200):
        program = compile_ball(formula, (x, y))
        for a, b in ((0.75, 0.5), (-0.5, 0.25)):
            value = program([acb(arb(a), arb(0.125)), acb(b)], True)
            expected = oracle(mp.mpc(a, 0.125), mp.mpf(b))
            for part, number in ((value.real, mp.re(expected)), (value.imag, mp.im(expected))):
                low, high = exact(part)
                assert low - mp.mpf(10) ** -45 <= number <= high + mp.mpf(10) ** -45
                assert high - low < mp.mpf(10) ** -40


@pytest.mark.parametrize(
    ("formula", "re", "im"),
    [
        *((f, 0, 1) for f in (sp.log(x), sp.sqrt(x), x ** sp.Rational(1, 3), sp.Abs(x), sp.sign(x), sp.Max(x, 0),
                              sp.Heaviside(x), sp.Piecewise((x, x < 0), (0, True)))),
        *((f, 0, 2) for f in (sp.log(1 + x**2), sp.atan(x), sp.log(sp.cosh(x)), sp.atan(sp.sinh(x)), sp.asinh(x),
                              sp.asin(sp.tanh(x)), sp.sqrt(1 - sp.tanh(x) ** 2), sp.tanh(x))),
        *((f, 0, 4) for f in (sp.log(1 + sp.exp(x)), 1 / (1 + sp.exp(x)))),
        *((f, 1, 0.5) for f in (sp.asin(x), sp.atanh(x), sp.acosh(x))),
        (sp.atan(sp.coth(x)), 0.125, 0.1),  # it jumps at 0, its derivative does not
        (1 / sp.sqrt(1 + 3 * sp.exp(2 * x)), -0.5, 2),
    ],
    ids=str,
)  # fmt: skip
def test_where_it_is_not_analytic_the_answer_is_not_finite(formula, re, im):
    program = compile_ball(formula, (x,))
    assert not acb(program([acb(arb(re, 0.5), arb(0, im))], True)).is_finite()


@pytest.mark.parametrize(("formula", "oracle"), EXPONENTIALS, ids=[str(f) for f, _ in EXPONENTIALS])
def test_a_wide_complex_ball_holds_the_values_at_its_points(formula, oracle):
    program, rng, bounded = compile_ball(formula, (x,)), random.Random(7), 0
    for centre, reach, height in ((0, 0.25, 0.25), (0, 2, 0.5), (3, 2, 0.75), (-6, 4, 0.5), (20, 12, 0.75)):
        wide = acb(program([acb(arb(centre, reach), arb(0, height))], True))
        bounded += wide.is_finite()
        for _ in range(10 if wide.is_finite() else 0):
            re, im = centre + rng.uniform(-reach, reach), rng.uniform(-height, height)
            value = oracle(mp.mpc(re, im), 0)
            assert wide.overlaps(acb(to_ball(mp.re(value), 53), to_ball(mp.im(value), 53)) + arb(0, 1e-9 * abs(value)))
    assert bounded >= 2


@pytest.mark.parametrize(
    "formula",
    [
        sp.log(1 + sp.exp(x)),
        1 / (1 + sp.exp(x)),
        1 / (1 + sp.exp(-x)),
        sp.asinh(x),
        sp.log(sp.cosh(x)),
        sp.atan(sp.sinh(x)),
        sp.asin(sp.tanh(x)),
        sp.sinh(x) / (sp.sinh(x) ** 2 + 1) - 2 * sp.sinh(x) * sp.cosh(x) ** 2 / (sp.sinh(x) ** 2 + 1) ** 2,
    ],
    ids=str,
)
@pytest.mark.parametrize("centre", [1000.0, -1000.0])
def test_wide_complex_balls_far_from_the_singularities_stay_bounded(formula, centre):
    program = compile_ball(formula, (x,))
    value = acb(program([acb(arb(centre, 200), arb(0, 300))], True))
    assert value.is_finite() and value.abs_upper() < 2000


def test_wide_real_balls_keep_the_range_of_monotone_functions():
    for formula in (sp.log(1 + sp.exp(x)), sp.asinh(x), sp.tanh(x), sp.erf(x), 1 / (1 + sp.exp(x)), 1 / sp.cosh(x)):
        program = compile_ball(formula, (x,))
        ball = program([arb(10).union(5000)])
        for place in (10, 11, 300, 5000):
            assert ball.overlaps(program([arb(place)]))
        assert ball.is_finite() and ball.abs_upper() < 5002


class Twice(Opaque, sp.Function):
    """A node with its own evaluation, of its second argument only."""

    @property
    def _ball_arguments(self):
        return self.args[1:]

    def _ball(self, arguments, bits):
        assert bits == ctx.prec
        return 2 * arguments[0]


@pytest.mark.parametrize(
    ("ball", "low", "high"),
    [("1 +/- 0.5", 1, 1), ("-1 +/- 0.5", 0, 0), ("0", 0.5, 0.5), ("0.1 +/- 0.5", 0, 1), ("-2 +/- 3", 0, 1)],
)
def test_a_step_of_a_ball_has_the_values_of_all_its_points(ball, low, high):
    value = compile_ball(sp.Heaviside(x, sp.Rational(1, 2)), (x,))([arb(ball)])
    assert value.contains(low) and value.contains(high)
    assert low < high or value == low


def test_a_node_evaluates_itself_and_hides_its_bound_variables():
    assert enclose(Twice(x, y) + 1, {y: 3}, 64) == 7
    value, radius = evaluate(Twice(x, sp.pi), {}, 40)
    with mp.workdps(60):
        assert abs(value - 2 * mp.pi) <= radius < mp.mpf(10) ** -39


def test_a_real_formula_uses_only_the_part_of_a_ball_inside_its_domain():
    root = enclose(sp.sqrt(x), {x: arb(0, 1e-20)}, 64)
    assert root.contains(0) and root.contains(1e-10) and root.abs_upper() < 1.1e-10
    angle = enclose(sp.asin(x), {x: arb(1, 1e-20)}, 64)
    assert angle.overlaps(arb.pi() / 2) and angle.rad() < 1e-9
    assert enclose(x ** sp.Rational(3, 2), {x: 0}, 64) == 0
    assert not enclose(sp.sqrt(x), {x: -1}, 64).is_finite()


@pytest.mark.parametrize(
    ("value", "exact_value"),
    [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("-2.5e-3", Fraction(-1, 400)), (".5", Fraction(1, 2)),
     (0.1, Fraction(0.1)), (7, Fraction(7)), (Fraction(2, 7), Fraction(2, 7)), (sp.Rational(2, 7), Fraction(2, 7)),
     (mp.mpf(0.1), Fraction(0.1)), (sp.Float(0.1), Fraction(0.1))],
    ids=str,
)  # fmt: skip
def test_numbers_are_taken_exactly(value, exact_value):
    with ctx.workprec(200):
        difference = to_ball(value, 200) - arb(exact_value.numerator) / exact_value.denominator
        assert difference.contains(0) and difference.abs_upper() < 1e-55


def test_symbolic_numbers_are_numbers():
    with ctx.workprec(200):
        assert (to_ball(sp.sqrt(2) * sp.pi, 200) ** 2 - 2 * arb.pi() ** 2).abs_upper() < 1e-55


HARD = [  # (formula, place, the same in mpmath)
    (sp.exp(2 * x) * sp.erfc(sp.sqrt(2 * x)) * sp.sqrt(2 * sp.pi * x) - 1 + 1 / (4 * x), 10**4,
     lambda x: mp.exp(2 * x) * mp.erfc(mp.sqrt(2 * x)) * mp.sqrt(2 * mp.pi * x) - 1 + 1 / (4 * x)),
    (sp.exp(-1 / x), "1e-4", lambda x: mp.exp(-1 / x)),
    *((2 - sp.erf(x) - sp.erf(2 * x), place, lambda x: mp.erfc(x) + mp.erfc(2 * x)) for place in (15, 20, 25)),
]  # fmt: skip


@pytest.mark.parametrize("digits", [15, 50])
@pytest.mark.parametrize(("formula", "place", "oracle"), HARD)
def test_evaluate_raises_the_precision_until_cancellation_is_cured(formula, place, oracle, digits):
    """Nine digits cancel, twice; what is tiny is no zero; 1 - erf(15) is 1e-99, of which ordinary balls see nothing."""
    value, radius = evaluate(formula, {x: place}, digits)
    with mp.workdps(120):
        expected = oracle(mp.mpf(place))
        slack = abs(expected) * mp.mpf(10) ** -100
        assert abs(value - expected) <= radius + slack and radius <= abs(value) * mp.mpf(10) ** -digits


def test_zeros_are_found():
    assert evaluate(x - x * sp.Integer(1), {x: 3}, 15) == (0, 0)
    value, radius = evaluate(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, {x: "0.3"}, 15)
    assert value == 0 and 0 < radius < mp.mpf(10) ** -50


def test_huge_exponents_are_no_problem():
    value, _ = evaluate(x**1000000 * sp.log(y), {x: "1e300", y: "1e-1000000000"}, 15)
    with mp.workdps(30):
        assert abs(mp.log10(-value) / (3 * 10**8) - 1) < 1e-7
    assert 0 < enclose(Sigmoid(sp.sinh(x)), {x: -40}, 99) < 1e-9
    assert enclose(Sigmoid(sp.sinh(x)), {x: "-1e9"}, 99) < 1e-9


def test_precision_is_given_back_even_after_an_error():
    before = ctx.prec
    with pytest.raises(DeclarationError):
        enclose(sp.zeta(x), {x: 3}, 999)
    enclose(sp.exp(x), {x: 3}, 999)
    assert ctx.prec == before


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 2), (1, 2), (2, 3), (3, 2)])
def test_quotients_of_exponentials_have_bounds_on_wide_balls(m, n):
    """exp(m u)/(1 + exp(u))**n: bounded for m <= n, over any interval of u."""
    inner = 2 * x - 1
    expr = x * sp.exp(sp.expand(m * inner)) / (1 + sp.exp(inner)) ** n
    for value in (-3, 0, sp.Rational(7, 2), 200):
        with mp.workdps(40):
            exact = mp.mpf(sp.N(expr.subs(x, value), 30)) if value else mp.mpf(0)
        found, _ = evaluate(expr, {x: value}, 20)
        assert abs(found - exact) <= abs(exact) * mp.mpf(10) ** -19
    wide = enclose(expr / x, {x: arb(40, 20)}, 60)
    assert (wide.abs_upper() < 2) == (m <= n)


@pytest.mark.parametrize("power", [2, 3, 4, -1, -2])
@pytest.mark.parametrize(("low", "high"), [(0.21, 1), (-1, -0.21), (-0.5, 2), (-3, 1), (0, 2), (1e-3, 1e3)])
def test_powers_of_wide_balls_are_those_of_their_ends(power, low, high):
    """Not those of middle and radius, which give negative squares, and let denominators of positive terms contain 0."""
    found = enclose(x**power, {x: arb(low).union(arb(high))}, 60)
    if power < 0 and low <= 0 <= high:
        assert not found.is_finite()
        return
    ends = sorted([low**power, high**power, *([0] if low < 0 < high and power == 2 * (power // 2) else [])])
    if power > 0:
        # a ball, which may be larger than the interval by rounding
        assert float(found.lower()) == pytest.approx(ends[0], abs=1e-6 * max(map(abs, ends)))
        assert float(found.upper()) == pytest.approx(ends[-1], rel=1e-6)
    assert found.contains(arb(ends[0])) and found.contains(arb(ends[-1]))


def test_even_functions_of_exponentials_have_bounds_on_wide_balls():
    """1/(1 + cosh(u)^2) lies in (0, 1/2]: by halves of u of length 1 its denominator contained 0."""
    for low, high in ((-1, 1), (-1, 0), (0.5, 3), (-400, 2)):
        found = enclose(1 / (1 + sp.cosh(x) ** 2), {x: arb(low).union(arb(high))}, 60)
        assert found.is_finite() and found.abs_upper() < 64


def test_far_forms_are_multiplied_and_never_expanded(monkeypatch):
    """Their coefficients have constants of twenty digits: expanding what stands beside exponentials took minutes."""
    slope = sp.diff(sp.log(1 + sp.exp(sp.sqrt(1 + z**2))) / (1 + sp.erf(10**20 + z) ** 2), z)
    expanded, expand = [], sp.expand
    monkeypatch.setattr(sp, "expand", lambda e, **hints: expanded.append(e.count_ops()) or expand(e, **hints))
    form = far_form(slope**2, (1,) * len(error_arguments(slope**2)), 1)
    assert max(expanded) < 50  # exponents alone
    exact = enclose((slope**2).subs(z, 3), {}, 200)  # 1 - erf(1e20 + 3) is below every digit of it
    found = enclose(form.subs(z, 3), {}, 200)
    assert found.overlaps(exact) and found.rel_accuracy_bits() > 100


@pytest.mark.parametrize("side", [-1, 1])
def test_far_forms_keep_products_and_powers_of_sums(side):
    """Of exp(-c*s^2)*s^2*s'^2, s with an error function, the sum had 74 and 88 parts and was slow in every tail."""
    s = z / (1 + sp.exp(-z)) - (1 + sp.erf(z / sp.sqrt(2))) / 2
    function = sp.exp(-(s**2) * sp.log(10)) * s**2 * sp.diff(s, z) ** 2
    form = far_form(function, (side,), side)
    assert len(sp.cse(form)[0]) < 20
    for place in (3, 30):
        exact = enclose(function.subs(z, side * place), {}, 2000)
        found = enclose(form.subs(z, side * place), {}, 200)
        assert found.overlaps(exact) and found.rel_accuracy_bits() > 100


def test_roots_of_polynomials_are_numbers():
    root = sp.rootof(x**5 - x - 1, 0)
    found = enclose(2 * root + z, {z: 1}, 200)
    own = (found - 1) / 2
    assert (own**5 - own - 1).contains(0) and found.rel_accuracy_bits() > 180
