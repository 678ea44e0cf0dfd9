"""Activations: validation, facts, and the atom that stands for them in equations."""

import copy
import pickle

import mpmath as mp
import pytest
import sympy as sp

from symres.activations.activation import Activation, Formula, Phi, identifier
from symres.activations.catalogue import activation, activations
from symres.activations.piecewise import PiecewiseFunction
from symres.activations.symmetries import even_part
from symres.core.errors import DeclarationError
from symres.core.symbols import C_W, K, z
from symres.functions.balls import evaluate
from tests.command_line import texts_of_seeds

a = sp.Symbol("a", positive=True)
b = sp.Symbol("b", real=True)

ACCEPTED = {
    "1/(1 + z^2)": ("even", None, "decaying"),
    "z/sqrt(1 + z^2)": ("odd", None, "bounded"),
    "log(1 + z^2)": ("even", None, "logarithmic"),
    "log(cosh(z))": ("even", None, "linear"),
    "log(2 + tanh(z))": (None, None, "decaying on the left, bounded on the right"),
    "1/(exp(z) - z)": (None, None, "decaying"),
    "1/(z^2 + z + 1)": (None, None, "decaying"),
    "1/(1 - tanh(z)^2/2)": ("even", None, "bounded"),
    "sqrt(abs(z^2 - 2))": ("even", None, "linear"),
    "sqrt(z^4 + z^2)": ("even", None, "quadratic"),
    "abs(z)^1.5": ("even", sp.Rational(3, 2), "of degree 3/2"),
    "asin(z/(1 + abs(z)))": ("odd", None, "bounded"),
    "tan(z/(1 + z^2))": ("odd", None, "decaying"),
    "sigmoid(z) - 1/2": ("odd", None, "bounded"),
    "sin(z)/(2 + cos(z))": ("odd", None, "bounded"),
    "softplus(z)*sin(z)": (None, None, "decaying on the left, at most linear on the right"),
    "sinh(z)*cos(z)": ("odd", None, "at most exponential"),
    "z*log(1 + z^2)": ("odd", None, "linear times a logarithm"),
    "max(0, 1 - abs(z))": ("even", None, "zero"),
    "relu(z)^2": (None, 2, "zero on the left, quadratic on the right"),
    "exp(z)": (None, None, "decaying on the left, exponential on the right"),
    "sinh(z)": ("odd", None, "exponential"),
    "exp(sqrt(1 + z^2))": ("even", None, "exponential"),
    "exp(abs(z)^1.9)": ("even", None, "like the exponential of |z|^19/10"),
    "exp(z^2/2)*erfc(abs(z))": ("even", None, "decaying"),
    "exp(-z^4)*cosh(z^2)": ("even", None, "decaying"),
    "exp(z)*erfc(z)": (None, None, "decaying"),
    "exp(-exp(z))": (None, None, "bounded on the left, decaying on the right"),
    "erfc(2*z)/(1 + erfc(sin(z))^2)": (None, None, "bounded on the left, decaying on the right"),
    "max(z, -2*z)": (None, 1, "linear"),
    "z*abs(z)": ("odd", 2, "quadratic"),
    "z^64": ("even", 64, "of degree 64"),
    "where(where(z > 0, 1, -1) > 0, z, 2*z)": (None, 1, "linear"),
    "where(where(z > 0, z, z/2) <= where(z > 1, 0, -1), z, 0)": (None, None, "linear on the left, zero on the right"),
    "exp(-log(1 + abs(z))^2)": ("even", None, "decaying"),
    "10^(-gelu(log(1 + abs(z)))^2)": ("even", None, "decaying"),
    "erfc(log(1 + abs(z)))": ("even", None, "decaying"),
    "z*erf(log(1 + z^2))": ("odd", None, "linear"),
    "where(z > sqrt(2), sqrt(z^2 - 2), 0)": (None, None, "zero on the left, linear on the right"),
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_with_its_facts(text):
    phi = activation(text)
    assert (phi.parity, phi.homogeneity, str(phi.growth)) == ACCEPTED[text]


OTHERS = ["exp(asinh(z))", "erf(z)*z^3", "z*Phi(z)", "z^2*exp(-abs(z))", "atan(exp(z))*z"]


@pytest.mark.parametrize("text", [*ACCEPTED, *OTHERS])
def test_growth_is_an_upper_bound(text):
    """log|f| far out, in 40 digits, against the claimed scale with room for its constant."""
    phi = activation(text)
    function = sp.lambdify(z, phi.expr, "mpmath")
    for side, scale in ((-1, phi.growth.left), (1, phi.growth.right)):
        for t in (60, 250, 1000):
            with mp.workdps(700):
                size = abs(mp.mpf(function(mp.mpf(side * t))))
                if size == 0:
                    continue
                if str(scale) == "zero":
                    pytest.fail(f"{text} is not zero at {side * t}")
                if scale.order == 0:
                    bound = 100 * mp.mpf(t) ** mp.mpf(sp.N(scale.power, 20)) * mp.log(t) ** scale.logs
                elif scale.order == sp.oo:
                    assert scale.rate < 0
                    bound = mp.mpf(1)
                else:
                    bound = 100 * mp.exp(mp.mpf(sp.N(scale.rate, 20)) * mp.mpf(t) ** mp.mpf(scale.order) * 1.02 + 40)
                    if scale.rate < 0:
                        bound = 100 * mp.exp(mp.mpf(sp.N(scale.rate, 20)) * mp.mpf(t) ** mp.mpf(scale.order) * 0.9 + 40)
                assert size <= bound


@pytest.mark.parametrize(
    ("formula", "signs"),
    [
        (lambda u, v: sp.exp(-u * z**2) + v, {"u": "positive"}),
        (lambda u, v: sp.exp(v * sp.exp(z)) * u, {"v": "negative"}),
        (lambda u, v: sp.exp(-(u + v) * z**2), {"u": "positive", "v": "positive"}),
        (lambda u, v: sp.exp((u**2 + v**2) * z**2), {}),
    ],
)
def test_signs_that_would_give_it_an_average_are_named(formula, signs):
    real = sp.symbols("u v", real=True)
    with pytest.raises(DeclarationError, match="no Gaussian average: it may grow like") as error:
        Activation("f", formula(*real), real)
    remedy = "declare the sign of the parameter: "
    assert error.value.remedy.startswith(remedy if signs else "give a formula that grows more slowly")
    if signs:
        listed = ", ".join(f"{name} = Symbol('{name}', {sign}=True)" for name, sign in signs.items())
        assert error.value.remedy == remedy + listed
        declared = [sp.Symbol(s.name, **{signs.get(s.name, "real"): True}) for s in real]
        Activation("f", formula(*declared), tuple(declared))


def test_declared_by_a_user():
    phi = Activation("my", sp.Piecewise((z, z > a), (sp.sin(z), True)), parameters=(a,), source="here")
    assert phi.breakpoints == (a,)
    assert phi.jumps == ((a, a - sp.sin(a)),) and not phi.is_continuous
    assert phi.identifier == "my"


def test_decimals_are_exact():
    assert Activation("my", 0.1 * z).expr == z / 10
    assert Activation("my", 1.0507009873554805 * z).expr == sp.Rational("1.0507009873554805") * z
    assert Activation("my", z**2.0).expr == z**2


def test_text_is_parsed_and_never_evaluated():
    assert Activation("my", "z*tanh(a*z)", (a,)).expr == z * sp.tanh(a * z)
    for text in ("__import__('os').getcwd()", "z.__class__"):
        with pytest.raises(DeclarationError):
            Activation("my", text)
        with pytest.raises(DeclarationError):
            activations["tanh"](text)


def test_subs_takes_numbers_of_every_kind_and_respects_assumptions():
    elu = activations["elu"]
    for value in (sp.Rational(1, 10), 0.1, "0.1", "1/10"):
        fixed = elu.subs(alpha=value)
        assert fixed.expr == sp.Piecewise((z, z > 0), (sp.exp(z) / 10 - sp.Rational(1, 10), True))
        assert (fixed.name, fixed.parameters) == ("elu(alpha=1/10)", ())
    assert elu.subs() is elu
    for value in (0, -1, "two", "nan", float("inf"), z, True):
        with pytest.raises(DeclarationError):
            elu.subs(alpha=value)
    with pytest.raises(DeclarationError, match="its parameters are: alpha"):
        elu.subs(beta=1)
    half = activations["scale_invariant"].subs(a_plus=1)
    assert half.name == "scale_invariant(a_plus=1)" and half.subs(a_minus=0).name.endswith("(a_plus=1, a_minus=0)")
    assert half.subs(a_minus=0).pieces == activations["relu"].pieces


# ---- the atom --------------------------------------------------------------------------------------------------
gelu, elu, relu = activations["gelu"], activations["elu"], activations["relu"]
mish = activation("z*tanh(log(1 + exp(z)))")


def test_atom_prints():
    assert str(gelu(z)) == "gelu(z)"
    assert str(gelu(z).diff(z)) == "gelu'(z)"
    assert sp.latex(gelu(z).diff(z) ** 2) == r"\operatorname{gelu}'\left(z\right)^{2}"
    assert sp.latex(activations["hard_tanh"](2 * z)) == r"\operatorname{hard\_tanh}\left(2 z\right)"
    assert sp.latex(mish(z)) == r"\phi\left(z\right)" and str(mish(z)) == "[z*tanh(log(1+exp(z)))](z)"
    assert str(elu.subs(alpha=1)(z)) == str(elu(z).subs(elu.parameters[0], 1)) == "elu(z; alpha=1)"
    assert sp.latex(elu.subs(alpha=1)(z)) == sp.latex(elu(z).subs(elu.parameters[0], 1))
    assert sp.latex(elu.subs(alpha=1)(z)) == r"\operatorname{elu}_{\alpha=1}\left(z\right)"


def test_values_of_parameters_are_part_of_the_text():
    slope = activations["leaky_relu"].parameters[0]
    atom = activations["leaky_relu"](z)
    assert str(atom.subs(slope, sp.Rational(1, 5))) != str(atom.subs(slope, sp.Rational(1, 10))) != str(atom)


def test_substitution_reaches_the_argument_and_the_parameters_but_not_the_formula():
    alpha = elu.parameters[0]
    atom = elu(z) + z
    moved = atom.subs(z, 3 * K)
    assert moved == elu(3 * K) + 3 * K
    assert atom.xreplace({z: K}) == elu(K) + K
    assert elu(z).formula.expr.has(z) and elu(3 * K).formula == elu(z).formula
    assert elu(z).subs(alpha, 2).pieces == elu.subs(alpha=2).pieces
    assert elu(z).subs(alpha, 2 * a).pieces.free_symbols == {a}
    assert elu(z).free_symbols == {z, alpha} and gelu(K).free_symbols == {K}
    swapped = activations["scale_invariant"](z)
    plus, minus = activations["scale_invariant"].parameters
    assert swapped.subs({plus: minus, minus: plus}, simultaneous=True).pieces.parts == (plus * z, minus * z)


def test_derivatives_count_up_and_follow_the_chain_rule():
    assert gelu(z).diff(z, 2).order == 2
    assert gelu(2 * K).diff(K) == 2 * Phi(gelu.formula, 2 * K, 1)
    assert gelu(z).diff(K) == 0
    found, wanted = gelu(z).diff(z).pieces.parts[0], gelu.expr.diff(z)
    assert sp.expand(found - wanted) == 0
    with pytest.raises(DeclarationError, match="parameter"):
        elu(z).diff(elu.parameters[0])


def test_an_atom_of_a_number_has_a_value():
    gelu, relu = activation("gelu"), activation("relu")
    value, radius = evaluate(gelu(sp.Integer(1)) + 3 * gelu(C_W / 2) + relu(K).diff(K), {C_W: 2, K: 5}, 30)
    with mp.workdps(40):
        assert abs(value - (2 * (1 + mp.erf(1 / mp.sqrt(2))) + 1)) <= mp.mpf(10) ** -29
    assert radius < 1e-29


def test_continuity_of_the_atom_and_its_derivatives():
    assert relu(z).is_continuous and not relu(z).diff(z).is_continuous
    assert gelu(z).diff(z, 3).is_continuous
    assert not activations["sign"](z).is_continuous
    alpha = elu.parameters[0]
    assert not elu(z).diff(z).is_continuous and elu(z).diff(z).subs(alpha, 1).is_continuous


def test_equality_is_that_of_name_and_formula():
    assert gelu(z) == activation("gelu")(z) and hash(gelu(z)) == hash(activation("gelu")(z))
    assert gelu(z) - gelu(z) == 0
    assert Activation("f", z**2)(z) != Activation("f", z**3)(z)
    assert Activation("f", z**2)(z) != Activation("g", z**2)(z)
    assert mish.expr == activations["mish"].expr and mish.pieces == activations["mish"].pieces


@pytest.mark.parametrize("phi", [gelu, elu, relu, mish, elu.subs(alpha=2)], ids=lambda p: p.name)
def test_copies_and_pickles(phi):
    expr = phi(z).diff(z) ** 2 + phi(K)
    for other in (pickle.loads(pickle.dumps(expr)), copy.deepcopy(expr), copy.copy(expr)):
        assert other == expr and hash(other) == hash(expr) and str(other) == str(expr)
        (formula,) = other.atoms(Formula)
        assert formula.pieces == phi.pieces
    other = pickle.loads(pickle.dumps(phi))
    assert other == phi and hash(other) == hash(phi)
    assert (other.pieces, other.parity, other.growth) == (phi.pieces, phi.parity, phi.growth)


def test_sympy_tools_leave_the_atom_alone():
    expr = K * gelu(z) + gelu(z)
    assert sp.expand((1 + gelu(z)) ** 2).coeff(gelu(z), 2) == 1
    assert sp.simplify(expr) == gelu(z) * (K + 1)
    assert expr.doit() == expr and sp.srepr(expr).count("erf") == 2
    assert gelu(z).is_real and (gelu(z) ** 2).is_nonnegative


def test_activations_compose():
    squared = Activation("squared_relu", relu(z) ** 2)
    assert squared.pieces.parts == (0, z**2) and squared.homogeneity == 2
    slope = Activation("slope", gelu(z).diff(z))
    assert sp.expand(slope.expr - gelu.expr.diff(z)) == 0
    assert Activation("nested", relu(gelu(2 * z))).pieces.parts[1] == gelu.expr.subs(z, 2 * z)


# ---- names -----------------------------------------------------------------------------------------------------
def test_identifiers_are_safe_and_distinct():
    names = "gelu; elu(alpha=1); elu(alpha=-1); elu(alpha=1/2); elu(alpha=12); z+1; z-1; z*1; z/1; z^1; z*(z+1)"
    names += "; z*z+1; lambda; (z); 1+z; |z|; a b; ..; f/../g; " + "x" * 99 + "; " + "x" * 98 + "+"
    names = names.split("; ")
    found = [identifier(name) for name in names]
    assert len(set(found)) == len(names)
    for stem in found:
        assert stem.isidentifier() and stem.isascii() and len(stem) <= 100
    assert found[0] == "gelu" and found[1] == "elu_alpha_1"


def test_text_does_not_depend_on_the_hash_seed():
    script = (
        "from symres.activations.catalogue import activation, activations as A; import sympy as sp\n"
        "from symres.core.symbols import z\n"
        "f = activation('elu(z) + swish(z)*celu(z)')\n"
        "print(f, f.pieces, f.growth, sp.latex(f(z)), f.identifier, sp.srepr(f(z)))\n"
        "print(*(A[n].expr for n in A), sep='|')"
    )
    texts = texts_of_seeds(script, "1", "2")
    assert len(texts) == 1 and "elu" in texts.pop()


def test_a_parameter_of_any_size_has_a_place_in_the_name():
    tiny = activation("elu", alpha="1e-300")
    assert tiny.name.startswith("elu(alpha=1.0")
    assert tiny.identifier.isidentifier()
    assert tiny.expr.subs(z, -1) == (sp.exp(-1) - 1) * sp.Rational(1, 10**300)


def test_breakpoints_may_be_inverse_functions_of_numbers():
    phi = activation("relu(2*z)*min(tanh(z-1), 1/2) - 2*softplus(z)")
    assert phi.breakpoints == (0, 1 + sp.atanh(sp.Rational(1, 2)))
    assert activation("z*min(tanh(tanh(z)), 1/2)").is_continuous


def test_a_formula_keeps_the_name_that_was_typed():
    typed = activation("where(z<-1/2, -1/5, gelu(z)*elu(z))")
    assert typed.subs(alpha=1).name == "where(z<-1/2,-1/5,gelu(z)*elu(z));alpha=1"


def test_the_even_part_of_a_sigmoid_is_a_constant():
    assert even_part(PiecewiseFunction((), (1 / (1 + sp.exp(-z)),))).parts == (sp.Rational(1, 2),)


def test_exponentials_of_polynomials_far_out_end():
    """In mpmath they take a bit of memory for each bit of the exponent of exp(2*300^6): a MemoryError."""
    function = PiecewiseFunction((), (sp.cosh(sp.tanh(sp.exp(2 * z**6))),))
    assert even_part(function) == function
