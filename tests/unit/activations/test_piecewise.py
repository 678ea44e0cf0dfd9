"""Functions as pieces: breakpoints, algebra, derivatives, jumps."""

import copy
import pickle

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import PiecewiseFunction, split, value_at
from symres.activations.zeros import zeros
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from symres.functions.companions import Sigmoid, Softplus

R = sp.Rational
a = sp.Symbol("a", positive=True)
b = sp.Symbol("b", positive=True)
real = sp.Symbol("s", real=True)


def value(pieces, point):
    """Independent evaluation: choose the piece with floats."""
    part = pieces.parts[sum(float(b) < point for b in pieces.breaks)]
    return mp.mpf(sp.N(part.subs(z, sp.Rational(str(point))), 20))


TABLE = [
    (sp.Max(0, z), (0,), (0, z)),
    (sp.Min(6, sp.Max(z, 0)), (0, 6), (0, z, 6)),
    (sp.Max(-1, sp.Min(1, z)), (-1, 1), (-1, z, 1)),
    (sp.Abs(sp.Abs(z) - 1), (-1, 0, 1), (-z - 1, z + 1, 1 - z, z - 1)),
    (sp.Abs(z**2 - 2), (-sp.sqrt(2), sp.sqrt(2)), (z**2 - 2, 2 - z**2, z**2 - 2)),
    (z * sp.Heaviside(z - 1), (1,), (0, z)),
    (sp.sign(z) ** 2, (), (1,)),
    (sp.Piecewise((z, z > 0), (real * z, True)), (0,), (real * z, z)),
    (sp.Piecewise((1, (z > -1) & (z < 1)), (0, True)), (-1, 1), (0, 1, 0)),
    (sp.Piecewise((1, (z < -1) | (z > 1)), (0, True)), (-1, 1), (1, 0, 1)),
    (sp.Piecewise((z, z > 0), (-z, z <= 0)), (0,), (-z, z)),
    (sp.Abs(sp.exp(z) - 1), (0,), (1 - sp.exp(z), sp.exp(z) - 1)),
    (sp.Abs(sp.tanh(z)), (0,), (-sp.tanh(z), sp.tanh(z))),
    (sp.Max(-a, sp.Min(a, z)), (-a, a), (-a, z, a)),
    (sp.sqrt(z**2 - 2 * z + 1), (1,), (1 - z, z - 1)),
    (sp.sqrt(z**4 + z**2), (0,), (-z * sp.sqrt(z**2 + 1), z * sp.sqrt(z**2 + 1))),
    (sp.Abs(2 + sp.sin(z)), (), (sp.sin(z) + 2,)),
    (sp.Heaviside(z**3 - z), (-1, 0, 1), (0, 1, 0, 1)),
    (sp.sign(sp.Min(sp.Max(z, 3 * z), 0)), (0,), (-1, 0)),  # the control vanishes on an interval
    (z * sp.Heaviside(sp.Max(z, 0)), (0,), (z / 2, z)),
    (sp.Piecewise((z, sp.Max(z, 0) >= 0), (1, True)), (), (z,)),
    (sp.Piecewise((z, sp.Max(z, 0) > 0), (1, True)), (0,), (1, z)),
    (sp.Max(z, sp.Min(-1, 1, evaluate=False)) + 1, (-1,), (0, z + 1)),
    (sp.Abs(real * z), (0,), (-sp.Abs(real) * z, sp.Abs(real) * z)),
    # powers of one base are one power
    (z * sp.sqrt(sp.Abs(z)), (0,), (-((-z) ** R(3, 2)), z ** R(3, 2))),
    (3 * z**2 * sp.Abs(z) ** R(1, 3) + z, (0,), (3 * (-z) ** R(7, 3) + z, 3 * z ** R(7, 3) + z)),
    (sp.Max(1 - z, 0) ** R(1, 3) * (z - 1) * sp.exp(z), (1,), (-((1 - z) ** R(4, 3)) * sp.exp(z), 0)),
]


@pytest.mark.parametrize(("expr", "breaks", "parts"), TABLE, ids=lambda v: str(v) if isinstance(v, sp.Expr) else "")
def test_split(expr, breaks, parts):
    pieces = split(expr)
    assert pieces.breaks == tuple(map(sp.sympify, breaks))
    assert all(sp.expand(found - sp.sympify(wanted)) == 0 for found, wanted in zip(pieces.parts, parts, strict=True))


@pytest.mark.parametrize("expr", [t[0] for t in TABLE if not t[0].free_symbols - {z}], ids=str)
def test_pieces_have_the_values_of_the_formula(expr):
    pieces = split(expr)
    for point in ("-7.3", "-1.2", "-0.6", "0.35", "1.1", "2.9", "8.05"):
        exact = sp.N(expr.subs(z, sp.Rational(point)), 20)
        assert abs(value(pieces, float(point)) - mp.mpf(exact)) < mp.mpf(10) ** -13


@pytest.mark.parametrize(
    "expr",
    [
        sp.Abs(sp.sin(z)),  # infinitely many breakpoints
        sp.Max(real * z, z),  # depends on the sign of s - 1
        sp.Max(-a, sp.Min(b, z)) + sp.Max(z, a) + sp.Max(z, b),  # the order of a and b is unknown
        sp.Piecewise((z, z > 0)),  # not defined on the left
        sp.Piecewise((z, 3 / z > 1), (0, True)),  # the sign of 3/z - 1 changes at a pole
        sp.Max(1, 1 / z),
        sp.Heaviside(sp.log(z)),
        sp.Abs(z ** sp.Rational(3, 2)),
    ],
    ids=str,
)
def test_undecidable_breakpoints_are_refused(expr):
    with pytest.raises(DeclarationError):
        split(expr)


def test_product_lives_on_the_common_refinement():
    product = split(sp.Max(0, z)).map(lambda u, v: u * v, split(sp.Abs(z - 1)))
    assert product == PiecewiseFunction((sp.Integer(0), sp.Integer(1)), (sp.Integer(0), z * (1 - z), z * (z - 1)))


def test_map_drops_breakpoints_that_cancel():
    assert split(sp.Abs(z)).map(lambda u: u**2) == PiecewiseFunction((), (z**2,))


def test_derivatives_and_jumps():
    relu = split(sp.Max(0, z))
    assert relu.is_continuous and relu.jumps == (0,)
    step = relu.diff()
    assert step == PiecewiseFunction((sp.Integer(0),), (sp.Integer(0), sp.Integer(1)))
    assert not step.is_continuous and step.jumps == (1,)
    assert step.diff() == PiecewiseFunction((), (sp.Integer(0),))


@pytest.mark.parametrize(
    ("expr", "slopes"),
    [
        (sp.Abs(z) ** R(5, 2), (-R(5, 2) * (-z) ** R(3, 2), R(5, 2) * z ** R(3, 2))),
        (sp.exp(z) * sp.Abs(z) ** R(5, 2), None),
        (sp.Abs(z**2 - z) ** R(5, 2), None),
        (sp.sqrt(1 + sp.Abs(z) ** R(7, 3)), None),
    ],
    ids=str,
)
def test_slopes_of_broken_powers_are_finite_at_the_break(expr, slopes):
    pieces = split(expr)
    assert pieces.diff().jumps == (0,) * len(pieces.breaks) and pieces.has_finite_slopes
    assert slopes is None or pieces.diff().parts == slopes
    for point in (-1.3, -0.2, 0.4, 2.5):
        exact = (value(pieces, point + 1e-5) - value(pieces, point - 1e-5)) / 2e-5
        assert abs(value(pieces.diff(), point) - exact) < 1e-8 * (1 + abs(exact))


def test_jumps_with_parameters_are_exact():
    elu = split(sp.Piecewise((z, z > 0), (a * (sp.exp(z) - 1), True)))
    assert elu.jumps == (0,) and elu.is_continuous
    assert elu.diff().jumps == (1 - a,)
    assert elu.diff().subs({a: sp.Integer(1)}).is_continuous


def test_a_jump_that_vanishes_only_after_algebra_is_zero():
    nested = sp.sqrt(5 + 2 * sp.sqrt(6))
    pieces = PiecewiseFunction((sp.Integer(1),), (z * (sp.sqrt(2) + sp.sqrt(3)), z * nested))
    assert pieces.jumps == (0,)
    off = PiecewiseFunction((sp.Integer(1),), (z * (sp.sqrt(2) + sp.sqrt(3)), z * nested + sp.Rational(1, 10**200)))
    assert not off.is_continuous


def test_substituting_a_parameter_keeps_the_order_of_breakpoints():
    pieces = split(sp.Max(-a, sp.Min(a, z)))
    assert pieces.subs({a: sp.Integer(2)}).breaks == (-2, 2)
    with pytest.raises(DeclarationError, match="increasing"):
        pieces.subs({a: sp.Integer(-2)})
    assert pieces.free_symbols == {a}


def test_as_expr_is_the_function():
    expr = split(sp.Max(-1, sp.Min(1, z))).as_expr()
    assert [expr.subs(z, p) for p in (-3, sp.Rational(1, 2), 3)] == [-1, sp.Rational(1, 2), 1]


def test_mirrored():
    assert split(sp.Max(0, z)).mirrored() == split(sp.Max(0, -z))


def test_copies_and_pickles_are_equal():
    pieces = split(sp.Max(-a, sp.Min(a, z)))
    assert pickle.loads(pickle.dumps(pieces)) == copy.deepcopy(pieces) == pieces
    assert hash(pickle.loads(pickle.dumps(pieces))) == hash(pieces)


def test_numbers_of_astronomical_size_are_never_written_down():
    with pytest.raises(DeclarationError, match="too large"):
        value_at(2**z, sp.Integer(10) ** 30)
    assert value_at(2**z, sp.Integer(10)) == 1024


# ---- zeros -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("part", "roots"),
    [
        (z - 3, [3]),
        (2 * z + a, [-a / 2]),
        (z**2 + 1, []),
        (z**3 - 2, [2 ** sp.Rational(1, 3)]),
        (z * sp.exp(z), [0]),
        (sp.tanh(z) - sp.Rational(1, 2), [sp.atanh(sp.Rational(1, 2))]),
        (sp.tanh(z) - 1, []),
        (sp.tanh(z) - 2, []),
        (sp.atan(z) + 2, []),
        ((sp.exp(z) - 2) ** 2 - 1, [0, sp.log(3)]),
        (1 + sp.erf(z), []),
        (sp.erf(z - 1), [1]),
        (sp.erfc(2 * z) - 3, []),
        (Sigmoid(z) - sp.Rational(1, 4), [-sp.log(3)]),
        (Softplus(z) - 1, [sp.log(sp.E - 1)]),
        (sp.exp(2 * z) - 3, [sp.log(3) / 2]),
        (sp.exp(z) + 1, []),
        (sp.log(1 + z**2) - sp.log(2), [-1, 1]),
        (sp.sqrt(z**2 + 1) - 2, [-sp.sqrt(3), sp.sqrt(3)]),
        (2**z - 8, [3]),
        ((z - 1) / (z**2 + 1), [1]),
    ],
    ids=str,
)
def test_zeros(part, roots):
    assert sorted(zeros(part), key=sp.default_sort_key) == sorted(map(sp.sympify, roots), key=sp.default_sort_key)


def test_one_breakpoint_of_unknown_sign_has_an_order():
    b = sp.Symbol("b", real=True)
    gate = sr.Activation("gate", sp.Max(sr.z - b, 0), (b,))
    assert gate.parity is None
    assert sr.expect(gate).status is sr.Status.EXACT


def test_slopes_of_joined_powers_are_finite_as_they_are_written():
    assert split(z / (1 + sp.sqrt(sp.Abs(z)))).has_finite_slopes
    assert not split(sp.sqrt(sp.Abs(z))).has_finite_slopes


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["z/(1+abs(z)^(2/3)+z^2)", "z/(1+abs(z)^(1/3)+abs(z)^(1/4))"])
def test_slopes_with_several_roots_have_values_at_their_zero(text):
    """Of t = z^(1/12), by quadrature: chi_perp = <phi'^2> and chi_parallel = <z phi phi'> at K = 1."""
    theory = sr.derive(text)
    place = sp.Symbol("t", positive=True)
    phi = sr.activation(text).expr.subs(sp.Abs(z), z).subs(z, place**12)
    slope = phi.diff(place) / (12 * place**11)
    both = [slope**2, place**12 * phi * slope]
    for name, average in zip(("chi_perp", "chi_parallel"), both, strict=True):
        weighed = sp.lambdify(place, sp.simplify(average) * 24 * place**11, "mpmath")
        density = lambda t: weighed(t) * mp.npdf(t**12)  # noqa: E731, B023
        expected = mp.quad(density, [mp.mpf("1e-9"), 0.3, 0.6, 0.8, 1, 1.1, 1.2, 1.3, 1.36])
        assert getattr(theory, name).evalf(K=1, C_W=1, C_b=0) == pytest.approx(expected, rel=1e-11)


def test_a_slope_that_depends_on_a_parameter_is_told_in_terms_of_z():
    power = sp.Symbol("p", positive=True)
    with pytest.raises(DeclarationError, match=r"z = 0: whether it is finite depends on p; give p a number") as refused:
        split(sp.Abs(z) ** power).steepness  # noqa: B018
    assert "step" not in str(refused.value)
