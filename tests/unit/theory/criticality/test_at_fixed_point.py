"""Fixed points as functions of the parameters, beside the printed formulas and iteration by another quadrature."""

import random

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.core.symbols import kappa
from symres.functions.balls import enclose, evaluate
from symres.functions.roots.flow_end import FlowEnd
from symres.layers.nodes import Dense
from symres.theory.criticality import at_fixed_point as room

SLOPES = {"a_plus": mp.mpf(7) / 5, "a_minus": mp.mpf(-3) / 11}
SQUARES = SLOPES["a_plus"] ** 2 + SLOPES["a_minus"] ** 2
GAP = SLOPES["a_plus"] - SLOPES["a_minus"]
SKIP = {"gamma": sr.gamma}


def joined_gelu(w, b, g):
    S, angle = w + b, mp.asin((w + b) / (1 + w + b))
    above = mp.pi + 2 * angle + 2 * S * (3 + 5 * S) / ((1 + S) * (1 + 2 * S) ** mp.mpf("1.5"))
    below = mp.pi * S * (1 + S) - 2 * S**2 + 4 * S**2 / mp.sqrt(1 + 2 * S) + 2 * S * (1 + S) * angle
    return w * (1 + S) * above / below


def of_erf(w, b, g):
    return 4 * w * (1 - g**2) / (mp.sqrt(5) * (2 * w * mp.asin(mp.mpf(2) / 3) + mp.pi * b)) + g**2


def of_gelu(w, b, g):
    above, below = 6 * mp.pi + 4 * mp.sqrt(3), 6 * mp.pi + 3 * mp.sqrt(3)
    return w * above * (1 - g**2) / (w * below + 18 * mp.pi * b) + g**2


PRINTED = {  # Doshi et al.: layer, attribute, formula in C_W, C_b and gamma
    "26": (
        lambda: sr.batch_norm("relu", units=2, **SKIP),
        "chi_perp",
        lambda w, b, g: mp.pi**2 * (1 - g**2) / (mp.pi - 1) ** 2 + g**2,
    ),
    "64": (
        lambda: sr.pre_ln("erf", **SKIP),
        "K",
        lambda w, b, g: (w * 2 / mp.pi * mp.asin(mp.mpf(2) / 3) + b) / (1 - g**2),
    ),
    "70": (lambda: sr.pre_ln("erf", **SKIP), "correlation_length", lambda w, b, g: 1 / abs(mp.log(of_erf(w, b, g)))),
    "104": (lambda: sr.pre_ln("scale_invariant"), "chi_perp", lambda w, b, g: w * SQUARES / (w * SQUARES + 2 * b)),
    "109": (
        lambda: sr.ln_act("scale_invariant"),
        "chi_perp",
        lambda w, b, g: w / (w + b) * mp.pi * SQUARES / (mp.pi * SQUARES - GAP**2),
    ),
    "117": (
        lambda: sr.pre_ln("scale_invariant", **SKIP),
        "chi_perp",
        lambda w, b, g: 1 - 2 * b * (1 - g**2) / (w * SQUARES + 2 * b),
    ),
    "134": (lambda: sr.pre_ln("erf"), "chi_perp", lambda w, b, g: of_erf(w, b, 0)),
    "138": (
        lambda: sr.ln_act("erf"),
        "chi_perp",
        lambda w, b, g: 2 * w / mp.sqrt(1 + 4 * (w + b)) / mp.asin(2 * (w + b) / (1 + 2 * (w + b))),
    ),
    "148": (lambda: sr.pre_ln("erf", **SKIP), "chi_perp", of_erf),
    "170": (lambda: sr.pre_ln("gelu"), "chi_perp", lambda w, b, g: of_gelu(w, b, 0)),
    "175": (lambda: sr.ln_act("gelu"), "chi_perp", joined_gelu),
    "185": (lambda: sr.pre_ln("gelu", **SKIP), "chi_perp", of_gelu),
}


@pytest.mark.parametrize("label", PRINTED)
def test_formulas_are_those_that_are_printed(label):
    make, attribute, printed = PRINTED[label]
    quantity = getattr(make().derive().at_fixed_point(), attribute)
    assert str(quantity.status) == "EXACT" and quantity.verifications
    draws = random.Random(label)
    for _ in range(3):
        w, b, g = (sp.Rational(draws.randint(*ends), 64) for ends in ((20, 130), (5, 130), (5, 60)))
        values = {"C_W": w, "C_b": b, "gamma": g, **{name: str(slope) for name, slope in SLOPES.items()}}
        taken = {
            name: value
            for name, value in values.items()
            if name in {s.name for s in (*quantity.symbols, *quantity.unused)}
        }
        with mp.workdps(25):
            expected = printed(*(mp.mpf(int(x.p)) / int(x.q) for x in (w, b, g)))
            assert abs(quantity.evalf(20, **taken) / expected - 1) < 1e-14


def test_averages_that_do_not_close_stay_in_the_formula():
    """(69) of Doshi et al. with A = C_W <phi'^2>, B = C_W <phi^2> + C_b."""
    star = sr.derive(sr.pre_ln("tanh", gamma=sr.gamma)).at_fixed_point()
    theory = sr.derive("tanh")
    A, B = (q.defined.subs(sr.K, 1) for q in (theory.chi_perp, theory.kernel_map))
    assert sp.simplify(star.chi_perp.expr - (1 - sr.gamma**2) * A / B - sr.gamma**2) == 0
    assert star.chi_perp.limit(gamma=1).expr == 1


def iterated(phi, w, b, start):
    """The kernel in which a perceptron ends, by mpmath's quadrature and Aitken's extrapolation."""
    w, b = mp.mpf(w), mp.mpf(b)

    def average(f, k):
        return mp.quad(lambda x: f(mp.sqrt(k) * x) * mp.npdf(x), mp.linspace(-12, 12, 9))

    k = mp.mpf(start)
    for _ in range(12):
        first = w * average(lambda x: phi(x) ** 2, k) + b
        second = w * average(lambda x: phi(x) ** 2, first) + b
        bend = second - 2 * first + k
        if abs(bend) < mp.mpf(10) ** -24:
            break
        k -= (first - k) ** 2 / bend
    return k, w * average(lambda x: mp.diff(phi, x) ** 2, k)


@pytest.mark.parametrize(
    ("name", "phi", "w", "b"),
    [("tanh", mp.tanh, "1.5", "0.1"), ("erf", mp.erf, "2", "0.05"), ("sin", mp.sin, "1.3", "0.2")],
)
def test_implicit_kernels_are_those_of_deep_iteration(name, phi, w, b):
    star = sr.derive(name).at_fixed_point()
    with mp.workdps(25):
        kernel, chi = iterated(phi, w, b, 1)
        assert abs(star.K.evalf(20, C_W=w, C_b=b) / kernel - 1) < 1e-16
        assert abs(star.chi_perp.evalf(20, C_W=w, C_b=b) / chi - 1) < 1e-12
        assert abs(star.correlation_length.evalf(15, C_W=w, C_b=b) * abs(mp.log(chi)) - 1) < 1e-11
    assert str(star.K.status) == "NUMERIC" and "affine" in star.K.reason


@pytest.mark.parametrize("name", ["tanh", "gelu", "sin"])
@pytest.mark.parametrize("parameter", [sr.C_W, sr.C_b])
def test_derivatives_have_thirty_digits(name, parameter):
    star = sr.derive(name).at_fixed_point()
    place, step = {sr.C_W: sp.Rational(3, 2), sr.C_b: sp.Rational(1, 10)}, sp.Rational(1, 10**18)
    with mp.workdps(60):
        for quantity in (star.K, star.chi_perp):
            derivative = evaluate(quantity.expr.diff(parameter).subs(place), {}, 32)[0]
            ends = [place | {parameter: place[parameter] + side * step} for side in (1, -1)]
            above, below = (quantity.evalf(55, **{s.name: value for s, value in end.items()}) for end in ends)
            assert abs((above - below) * 10**18 / 2 / derivative - 1) < 1e-30


def test_second_derivatives():
    end = sr.derive("sin").at_fixed_point().K.expr
    place = {sr.C_W: sp.Rational(3, 2), sr.C_b: sp.Rational(1, 10)}
    step = sp.Rational(1, 10**10)
    slopes = [evaluate(end.diff(sr.C_W).subs(place | {sr.C_b: place[sr.C_b] + s * step}), {}, 40)[0] for s in (1, -1)]
    second = evaluate(end.diff(sr.C_W, sr.C_b).subs(place), {}, 20)[0]
    assert abs((slopes[0] - slopes[1]) * 10**10 / 2 / second - 1) < 1e-15


def test_a_ball_of_parameters_has_the_kernels_of_all_of_them():
    end = sr.derive("tanh").at_fixed_point().K.expr
    ball = enclose(
        end,
        {sr.C_W: "1.5", sr.C_b: enclose(kappa, {kappa: "0.1"}, 60).union(enclose(kappa, {kappa: "0.1001"}, 60))},
        60,
    )
    for bias in ("0.1", "0.10005", "0.1001"):
        inside = enclose(end.subs(sr.C_W, sp.Rational(3, 2)), {sr.C_b: bias}, 100)
        assert ball.contains(inside)
    assert ball.rad() < 1e-3


def test_conditions_are_where_the_kernel_ends():
    """(98) and (114) of Doshi et al."""
    plain = sr.derive("scale_invariant").at_fixed_point()
    a, b = (s for s in plain.K.symbols if s.name.startswith("a_"))
    assert sp.expand(plain.conditions[0].lhs - sr.C_W * (a**2 + b**2) / 2) == 0
    skip = sr.derive(sr.residual("scale_invariant", gamma=sr.gamma)).at_fixed_point()
    assert sp.expand(skip.conditions[0].lhs - sr.C_W * (a**2 + b**2) / 2 - sr.gamma**2) == 0
    with pytest.raises(DeclarationError, match="exists where"):
        sr.derive("relu").at_fixed_point().K(C_W=3, C_b=1)
    assert sr.derive("relu").at_fixed_point().K(C_W="19/10", C_b=1) == 20


def test_below_the_critical_point_kernels_end_at_zero():
    star = sr.derive("tanh").at_fixed_point()
    values = {"C_W": "1/2", "C_b": 0}
    assert (star.K(**values), star.chi_perp(**values), star.critical_surface(**values)) == (0, 0.5, -0.5)
    assert star.correlation_length(**values) == pytest.approx(1 / float(mp.log(2)))


def test_where_inputs_end_in_several_places_the_kernel_of_the_input_tells():
    """<z^4> = 3 K^2: kernels end at the smaller root of 3 C_W K^2 + C_b = K, those above the larger one nowhere."""
    theory, values = sr.derive("z^2"), {"C_W": "1/10", "C_b": "1/2"}
    smaller = (1 - mp.sqrt(1 - mp.mpf("0.6"))) / mp.mpf("0.6")
    with pytest.raises(DeclarationError, match="infinite K; pass the kernel of the input"):
        theory.at_fixed_point().K(**values)
    assert theory.at_fixed_point(K=1).K(**values) == pytest.approx(float(smaller), rel=1e-15)
    with pytest.raises(NoClosedForm, match="grows without bound"):
        theory.at_fixed_point(K=3).K(**values)


def test_the_correlation_length_is_infinite_at_criticality():
    star = sr.derive(sr.pre_ln("relu")).at_fixed_point()
    assert star.correlation_length(C_W="1/2", C_b=0) == mp.inf and star.critical_surface(C_W="1/2", C_b=0) == 0


def test_the_bias_along_the_kernel():
    star = sr.derive("tanh").at_fixed_point()
    kernel = star.K.evalf(25, C_W="1.5", C_b="0.1")
    assert abs(star.C_b.evalf(20, K=kernel, C_W="1.5") - mp.mpf("0.1")) < 1e-15


def test_limits():
    star = sr.derive(sr.pre_ln("erf", gamma=sr.gamma)).at_fixed_point()
    assert star.chi_perp.limit(gamma=1).expr == 1
    assert star.K.limit(gamma=1).expr == star.correlation_length.limit(gamma=1).expr == sp.oo
    assert star.K.limit(C_b=0).expr == sr.C_W * 2 * sp.asin(sp.Rational(2, 3)) / sp.pi / (1 - sr.gamma**2)
    joined = sr.derive(sr.ln_act("erf")).at_fixed_point().chi_perp
    assert joined.limit(C_W="oo").expr == sp.oo
    with pytest.raises(DeclarationError, match="no symbol"):
        joined.limit(gamma=1)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (lambda: sr.residual("tanh", gamma=1), None),
        (lambda: sr.pre_ln("relu", gamma=1), "grows without bound"),
        (lambda: sr.Layer(Dense(sr.z, C_W=1, C_b=0)), "every kernel is kept"),
        (lambda: sr.transformer("gelu"), "covariance of two positions"),
    ],
)
def test_layers_without_fixed_points_say_so(layer, message):
    theory = layer().derive()
    if message is None:
        with pytest.raises(NoClosedForm, match="grows without bound"):
            theory.at_fixed_point().K(C_W=1, C_b=1)
        return
    with pytest.raises(NoClosedForm, match=message):
        theory.at_fixed_point()


def test_a_wrong_kernel_is_not_returned(monkeypatch):
    """Sabotage: an offset of 101 % is seen by quadrature of the next kernel."""
    right = room.affine_parts
    monkeypatch.setattr(room, "affine_parts", lambda e: (sp.Rational(101, 100) * right(e)[0], right(e)[1]))
    with pytest.raises(NoClosedForm, match="differs from the next kernel"):
        sr.derive(sr.pre_ln("erf")).at_fixed_point()


def test_a_branch_that_is_never_left_has_no_number():
    with pytest.raises(NoClosedForm, match="grows without bound"):
        FlowEnd(2 * kappa + 1)
