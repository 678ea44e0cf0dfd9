"""The exact engine: textbook forms, identities, proofs, refusals."""

import pickle

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.errors import NoClosedForm, SymresError
from symres.core.proof import Proof, Step
from symres.core.symbols import C_W, K1, K2, C, K, z
from symres.gaussian.algebra.canonical import canonical
from symres.gaussian.closed_form import average
from symres.gaussian.closed_form import engine as exact
from symres.gaussian.closed_form.engine import closed_form
from symres.layers.architectures import mlp
from symres.results.quantity import Status
from symres.theory.theory import derive
from tests.command_line import texts_of_seeds
from tests.oracles.average import average_of

R = sp.Rational
ALPHA = sp.Symbol("alpha", positive=True)
A, B = sp.symbols("a b", real=True)
GELU = z * (1 + sp.erf(z / sp.sqrt(2))) / 2
RELU = sp.Max(z, 0)
ELU = sp.Piecewise((z, z > 0), (ALPHA * (sp.exp(z) - 1), True))
SLOPES = sp.Piecewise((A * z, z > 0), (B * z, True))


def one(expr: sp.Expr, variance: sp.Expr = K) -> sp.Expr:
    return closed_form((split(expr),), (variance,)).result


def two(first: sp.Expr, second: sp.Expr, *law: sp.Expr) -> sp.Expr:
    return closed_form((split(first), split(second)), law or (K1, C, K2)).result


def square(f: PiecewiseFunction) -> PiecewiseFunction:
    return f.map(lambda u: u**2)


ERFC = sp.erfc(sp.sqrt(2 * K) / 2)
TEXTBOOK_1 = [
    (GELU**2, "K*(2*K/((K + 1)*sqrt(2*K + 1)) + asin(K/(K + 1)))/(2*pi) + K/4"),
    (RELU**2, "K/2"),
    (sp.sin(z) ** 2, "1/2 - exp(-2*K)/2"),
    (sp.erf(z) ** 2, "2*asin(2*K/(2*K + 1))/pi"),
    (z**6, "15*K**3"),
    (z**2 * sp.exp(-(z**2)), "K/(2*K + 1)**(3/2)"),
    ((z + sp.sin(z) ** 2) ** 2, "K + 3/8 - exp(-2*K)/2 + exp(-8*K)/8"),
    (sp.Max(-1, sp.Min(1, z)) ** 2, "-sqrt(2)*sqrt(K)*exp(-1/(2*K))/sqrt(pi) + (K - 1)*erf(sqrt(2)/(2*sqrt(K))) + 1"),
    (SLOPES**2, "K*(a**2 + b**2)/2"),
    (sp.exp(z) * sp.sin(z), "sin(K)"),
    (z * sp.sin(z), "K*exp(-K/2)"),
    (sp.exp(z**2 / 8), "2/sqrt(4 - K)"),
]
TEXTBOOK_2 = [
    ((RELU, RELU), "C/4 + (C*asin(C/(sqrt(K1)*sqrt(K2))) + sqrt(-C**2 + K1*K2))/(2*pi)"),
    ((sp.erf(z), sp.erf(z)), "2*asin(2*C/(sqrt(2*K1 + 1)*sqrt(2*K2 + 1)))/pi"),
    ((sp.sin(z), sp.sin(z)), "exp(-K1/2 - K2/2)*sinh(C)"),
    ((sp.cos(z), sp.cos(z)), "exp(-K1/2 - K2/2)*cosh(C)"),
    ((z**2, z**2), "2*C**2 + K1*K2"),
    ((sp.sign(z), sp.sign(z)), "2*asin(C/(sqrt(K1)*sqrt(K2)))/pi"),
    ((RELU, sp.sin(z)), "C*exp(-K2/2)/2"),
    (
        (GELU, GELU),
        "C/4 + (C*asin(C/(sqrt(K1 + 1)*sqrt(K2 + 1))) + (C**2*(-K1*K2 + 1) + K1*K2*(K1 + 1)*(K2 + 1))"
        "/(sqrt(-C**2 + (K1 + 1)*(K2 + 1))*(K1 + 1)*(K2 + 1)))/(2*pi)",
    ),
]


@pytest.mark.parametrize(("expr", "text"), TEXTBOOK_1, ids=lambda x: str(x)[:24])
def test_one_variable_looks_as_in_a_textbook(expr: sp.Expr, text: str) -> None:
    assert str(one(expr)) == text


@pytest.mark.parametrize(("pair", "text"), TEXTBOOK_2, ids=lambda x: str(x)[:24])
def test_two_variables_look_as_in_a_textbook(pair: tuple[sp.Expr, sp.Expr], text: str) -> None:
    assert str(two(*pair)) == text


def test_several_dead_zones_are_written_with_erfc_and_no_erf() -> None:
    """Where c = sum c_i, c - sum c_i erf(u_i) loses every digit at small K."""
    step = sp.Heaviside(z - 1, 0) + sp.Heaviside(z - 2, 0)
    root = sp.sqrt(2 * K)
    assert one(step**2) == sp.erfc(1 / root) / 2 + 3 * sp.erfc(2 / root) / 2
    ramps = RELU.subs(z, z - 1) - 2 * RELU.subs(z, -z - 3)
    assert not one(ramps**2).has(sp.erf)
    assert one(sp.Max(-1, sp.Min(1, z)) ** 2).has(sp.erf)  # what does not vanish stays as it is


def test_elu_is_written_with_erfc_and_no_erf() -> None:
    result = one(ELU**2)
    assert result.has(sp.erfc) and not result.has(sp.erf)
    expected = K / 2 + ALPHA**2 * (R(1, 2) - sp.exp(K / 2) * ERFC + sp.exp(2 * K) * sp.erfc(sp.sqrt(2 * K)) / 2)
    assert canonical(result - expected) == 0


def test_a_step_times_an_oscillation_is_real() -> None:
    for result in (two(RELU, sp.sin(z) ** 2), two(RELU, z + sp.sin(2 * z + 1)), one(sp.exp(z) * sp.cos(z) ** 2)):
        assert not result.has(sp.I)
    assert two(RELU, sp.sin(z) ** 2).has(sp.erfi)


@pytest.mark.parametrize("variance", [R(1, 5), R(3)])
def test_fully_correlated_shifted_steps(variance: sp.Rational) -> None:
    hard_tanh = split(sp.Max(-1, sp.Min(1, z)))
    expected = closed_form((square(hard_tanh),), (variance,)).result
    for sign in (1, -1):
        law = (variance, sign * variance, variance)
        assert canonical(closed_form((hard_tanh, hard_tanh), law).result - sign * expected) == 0


@pytest.mark.parametrize(
    ("factors", "law"), [((GELU, GELU), (K1, C, K2)), ((ELU**2,), (K,)), ((sp.cos(z),), (K,)), ((RELU,), (K,))]
)
def test_proofs_replay_also_after_pickling(factors: tuple[sp.Expr, ...], law: tuple[sp.Symbol, ...]) -> None:
    proof = closed_form(tuple(map(split, factors)), law)
    assert proof.replay() == proof.result
    assert [s.rule for s in proof.steps] == ["breakpoints as signs", "Stein's lemma", "canonical form"]
    copy = pickle.loads(pickle.dumps(proof))
    assert copy == proof
    assert copy.replay() == proof.result
    assert str(proof.result) in copy.explain()


NEGATIVE = sp.Symbol("c", negative=True)
LOGARITHM = sp.log(1 + sp.exp(z))
SQUAREPLUS = (z + sp.sqrt(z**2 + 4)) / 2
EVEN_PARTS = [
    (1 / (1 + sp.exp(-z)), R(1, 2)),
    (1 / (1 + sp.exp(z / 3)) - sp.tanh(z / 5), R(1, 2)),
    (z**2 / (1 + sp.exp(-z)), K / 2),
    (SQUAREPLUS**2, K / 2 + 1),
    (sp.tanh(z) ** 2 + 1 / sp.cosh(z) ** 2, sp.Integer(1)),
    (sp.erf(A * z) / (1 + sp.exp(z)) + sp.erf(A * z) / (1 + sp.exp(-z)), sp.Integer(0)),
    (z**10 * (1 + sp.tanh(z)), 945 * K**5),
    (sp.exp(-(z**2)) / (1 + sp.exp(z)), 1 / (2 * sp.sqrt(1 + 2 * K))),
    (sp.cos(2 * z) * (1 - sp.tanh(z**3)), sp.exp(-2 * K)),
    (z * LOGARITHM, K / 2),
    (z**3 * LOGARITHM.xreplace({z: 2 * z}), 3 * K**2),
    (LOGARITHM.xreplace({z: z / 2 + 1}) - LOGARITHM.xreplace({z: z / 2 - 1}), sp.Integer(1)),
    (LOGARITHM.xreplace({z: A * z + 1}) - LOGARITHM.xreplace({z: A * z - 1}), sp.Integer(1)),
    (1 / (1 + sp.exp(A * z + 1)) + 1 / (1 + sp.exp(A * z - 1)), sp.Integer(1)),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize("kernel", [0.0625, 2.25])
@pytest.mark.parametrize(("expr", "known"), EVEN_PARTS)
def test_what_is_odd_in_an_integrand_cancels(expr: sp.Expr, known: sp.Expr, kernel: float) -> None:
    proof = closed_form((split(expr),), (K,))
    assert (proof.replay(), proof.result) == (known, known)
    with mp.workdps(25):
        numeric = average_of(expr.subs(A, R(3, 5)), kernel)
        exact = sp.N(known.subs(K, R(kernel)), 25)
        assert abs(numeric - mp.mpf(exact)) < 1e-20 * (1 + abs(exact))


@pytest.mark.parametrize(
    "expr",
    [
        *(z * sp.tanh(z), LOGARITHM, z**2 * LOGARITHM, 1 / (1 + sp.exp(z)) ** 2, SQUAREPLUS, sp.tanh(sp.exp(-(z**2)))),
        sp.cosh(z) * sp.log(sp.cosh(z)) / (1 + z**2),
        LOGARITHM + sp.log(1 + sp.exp(-2 * z)),
    ],
)
def test_an_even_part_without_a_closed_form_changes_no_words(expr: sp.Expr) -> None:
    with pytest.raises(NoClosedForm) as refused:
        closed_form((split(expr),), (K,))
    assert str(split(expr).parts[0].xreplace({z: sp.Symbol("x1", real=True)})) in str(refused.value)


LOGARITHMS = {
    "of a square": sp.log(NEGATIVE**2 * sp.exp(z) + NEGATIVE**2) - LOGARITHM,
    "of multiples": (sp.log(1 - NEGATIVE) + sp.log(2 - 2 * NEGATIVE)) / (1 + sp.exp(-z)),
    "of products": (sp.log(-2 * NEGATIVE) + sp.log(-NEGATIVE)) / (1 + sp.exp(-z)),
    "of a difference": sp.log((sp.exp(NEGATIVE) - 2) ** 2) / (1 + sp.exp(-z)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LOGARITHMS)
def test_factors_of_logarithms_may_be_negative(name: str) -> None:
    """log(c^2) is not 2 log(c) for c < 0; all of them are symmetric about their value at 0."""
    found = sr.expect(sr.Activation("f", LOGARITHMS[name], (NEGATIVE,)))
    assert found.status is sr.Status.EXACT
    for c in (-2, R(-1, 2)):
        exact = sp.N(LOGARITHMS[name].subs({NEGATIVE: c, z: 0}), 30)
        with mp.workdps(30):
            assert abs(found.evalf(25, K=1, c=c) - mp.mpf(exact)) < 1e-24


@pytest.mark.sample(4)
@pytest.mark.parametrize("slope", [R(-7, 10), R(7, 10), R(0)])
@pytest.mark.parametrize("expr", [z * sp.erf(A * z), sp.erf(A * z + B), sp.exp(A * z) * (1 + sp.erf(A * z - B))])
def test_what_is_analytic_in_a_parameter_holds_for_all_its_real_values(expr: sp.Expr, slope: sp.Expr) -> None:
    proof = closed_form((split(expr),), (K,))
    assert proof.replay() == proof.result
    assert proof.steps[-1].rule == "analytic continuation"
    values = {A: slope, B: R(1, 3), K: R(5, 4)}
    with mp.workdps(30):
        integral = average_of(expr.subs(values), 1.25, digits=25)
        assert abs(sp.N(proof.result.subs(values), 30) - integral) < mp.mpf(10) ** -25


@pytest.mark.sample(3)
@pytest.mark.parametrize("a", [R(3, 10), R(1), R(17, 10)])
@pytest.mark.parametrize(
    "expr",
    [
        z * sp.erf((A - 1) * z),
        sp.erf((A - B) * z) * sp.erf((1 - A) * z + A),
        sp.Abs(A) * z * sp.erf((A - 1) ** 3 * z),  # of a itself no analytic function
        z * sp.erf(sp.sin(A - 1) * z),
        z * sp.erf(A * z - z),  # as sympy expands it
        z * sp.erf(A * z - B - z),
        z * sp.Max(z - A, 0) * sp.erf((A - 1) * z),  # a moves the kink, too
    ],
)
def test_a_coefficient_of_unknown_sign_may_be_an_expression(expr: sp.Expr, a: sp.Expr) -> None:
    parameters = tuple(sorted(expr.free_symbols - {z}, key=str))
    found = sr.expect(sr.Activation("f", expr, parameters))
    assert found.status is sr.Status.EXACT and found.verified.worst < 1e-20
    assert found.proof.replay() == found.expr
    assert "names for coefficients: c1 = " in found.proof.explain()
    values = {A: a, B: R(1, 3), K: R(5, 4)}
    with mp.workdps(30):
        integral = average_of(expr.subs(values), 1.25, (a,), digits=25)
        assert abs(found.evalf(25, **{s.name: values[s] for s in found.symbols}) - integral) < mp.mpf(10) ** -24


def test_an_expression_is_verified_at_both_of_its_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 - a the points of a would see one sign only: a wrong continuation must not pass."""
    average._verified.cache_clear()
    continued = exact._continue_analytically
    wrong = lambda start, signed: _flipped(continued(start, signed), signed)  # noqa: E731
    monkeypatch.setattr(exact, "_continue_analytically", wrong)
    found = sr.expect(sr.Activation("f", z * sp.erf((3 - A) * z), (A,)))
    average._verified.cache_clear()
    assert found.status is sr.Status.NUMERIC and "the sign of 3 - a is unknown" in found.reason


def _flipped(proof: Proof, signed: dict[sp.Symbol, sp.Symbol]) -> Proof:
    """With the absolute value of the parameter, which is right where it is positive."""
    last = proof.steps[-1]
    result = last.after.xreplace({s: sp.Abs(s) for s in signed})
    return Proof(proof.start, (*proof.steps[:-1], Step(last.rule, last.statement, lambda _: result, result)))


def test_a_reason_is_in_the_words_of_the_formula() -> None:
    found = sr.expect(sr.Activation("f", sp.erf((A - 1) * z) * sp.tanh(z), (A,)))
    assert found.status is sr.Status.NUMERIC and "c1" not in found.reason


def test_a_changed_step_does_not_replay() -> None:
    proof = closed_form((split(RELU**2),), (K,))
    wrong = type(proof)(proof.start, (*proof.steps[:-1], type(proof.steps[-1])("x", "x", canonical, K / 3)))
    with pytest.raises(SymresError, match="K/2"):
        wrong.replay()


def test_the_condition_of_convergence_is_recorded() -> None:
    proof = closed_form((split(sp.exp(z**2 / 8)),), (K,))
    assert any("1 - K/4 > 0" in line for line in proof.steps[1].details)


@pytest.mark.exhaustive
def test_the_same_text_under_every_hash_seed() -> None:
    program = (
        "import sympy as sp\n"
        "from symres.activations.piecewise import split\n"
        "from symres.gaussian.closed_form.engine import closed_form\n"
        "from symres.core.symbols import *\n"
        "a, b = sp.symbols('a b', real=True)\n"
        "f = split(z*(1 + sp.erf(z/sp.sqrt(2)))/2)\n"
        "g = split(sp.Piecewise((a*z, z > 0), (b*z, True)))\n"
        "h = split(z*sp.Max(0, sp.Min(1, z/6 + sp.Rational(1, 2))))\n"
        "for factors, law in [((f, f), (K1, C, K2)), ((f.diff(), g), (K1, C, K2)),\n"
        "                     ((g, split(sp.sin(z)**2)), (K1, C, K2)), ((h.map(lambda u: u**4),), (K,))]:\n"
        "    print(closed_form(factors, law).explain())\n"
    )
    texts = texts_of_seeds(program, "1", "2", "77")
    assert len(texts) == 1
    assert "asin" in texts.pop()


def test_coefficients_beyond_machine_integers_are_factored() -> None:
    steep = derive(mlp("erf(100000*z)"))
    expected = 4 * 10**10 / sp.sqrt(1 + 4 * 10**10 * K) / sp.pi
    assert sp.simplify(steep.chi_perp.expr.coeff(C_W) - expected) == 0


p = sp.Symbol("p", positive=True)
NUMBERS = {"K": sp.Rational(5, 3), "p": sp.Rational(7, 10)}
CASES = {
    "power": abs(z) ** p,
    "times a square": abs(z) ** p * z**2,
    "another exponent": 3 * abs(z) ** (2 * p + 1) - abs(z),
    "one side": sp.Max(z, 0) ** p,
    "two sides": sp.Piecewise((z ** sp.Rational(3, 2), z > 0), (-5 * (-z) ** sp.Rational(1, 3), True)),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CASES)
def test_averages_of_powers_are_exact_and_those_of_quadrature(name):
    found = sr.expect(CASES[name])
    assert found.status is Status.EXACT
    assert {v.oracle for v in found.verifications} >= {"quadrature", "Stein's lemma"}
    assert found.proof.replay() == found.expr
    value = average_of(CASES[name].subs(p, NUMBERS["p"]), "5/3")
    own = {name: number for name, number in NUMBERS.items() if name in map(str, found.symbols)}
    assert abs(found.evalf(20, **own) - value) < 1e-12 * abs(value)


def test_the_moment_is_that_of_the_literature():
    expected = 2 ** (p / 2) * sp.gamma((p + 1) / 2) * K ** (p / 2) / sp.sqrt(sp.pi)
    assert sp.simplify(sr.expect(abs(z) ** p).expr - expected) == 0
    assert sr.expect(abs(z) ** p * z).expr == 0


@pytest.mark.parametrize("formula", [abs(z) ** p * sp.tanh(z) ** 2, abs(z - 1) ** p, abs(z) ** p * sp.exp(-abs(z))])
def test_other_integrands_are_numbers(formula):
    assert sr.expect(formula).status is Status.NUMERIC
