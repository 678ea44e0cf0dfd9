"""Values are given by name: symbols that print alike are refused where a quantity or a layer is made."""

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError
from symres.core.symbols import KERNELS, SHARED, z

TWICE = "there are two symbols called {} with different assumptions; rename one of them"


def decaying(p):
    return sr.Activation("h", sp.exp(-(p**2) * sp.Abs(z)), parameters=(p,))


@pytest.mark.parametrize("name", [s.name for s in KERNELS])
def test_a_mean_that_is_called_like_a_kernel_is_refused(name):
    mean = sp.Symbol(name, integer=True)
    for ask in (lambda: sr.expect("relu", mean=mean), lambda: sr.expect2("relu", "tanh", means=(0, 1 + mean))):
        with pytest.raises(DeclarationError, match=f"the name {name} is taken by symres; choose another name$"):
            ask()


@pytest.mark.parametrize("name", ["gamma", "C_W"])
def test_a_mean_that_is_called_like_a_scalar_of_layers_is_that_or_refused(name):
    assert sr.expect("relu", mean=SHARED[name]).symbols == (sr.K, SHARED[name])
    with pytest.raises(DeclarationError, match=f"is taken by symres; choose another name, or use sr.{name}"):
        sr.expect("relu", mean=sp.Symbol(name, integer=True))


def test_what_evalf_has_beside_values_is_no_name_of_a_parameter():
    with pytest.raises(DeclarationError, match=r"the name digits is taken by symres; choose another name$"):
        sr.expect(decaying(sp.Symbol("digits", positive=True)))


@pytest.mark.exhaustive
def test_two_symbols_of_one_name_are_refused():
    real, positive = sp.Symbol("a", real=True), sp.Symbol("a", positive=True)
    with pytest.raises(DeclarationError, match=TWICE.format("a")):
        sr.expect2(decaying(real), decaying(positive))
    with pytest.raises(DeclarationError, match="average of elu: " + TWICE.format("alpha")):
        sr.expect("elu", mean=sp.Symbol("alpha", real=True))
    with pytest.raises(DeclarationError, match="the layer .*: " + TWICE.format("a")):
        sr.Layer(sr.Dense(decaying(real)(z)) + sr.Dense(decaying(positive)(z)))
    assert sr.expect2(decaying(real), decaying(real)).symbols == (sr.K1, sr.K2, sr.C, real)


def test_a_layer_is_as_strict():
    with pytest.raises(DeclarationError, match="the name K is taken by symres"):
        sr.Layer(sp.Symbol("K", real=True) * z + sr.Dense(sr.activation("relu")(z)))
    for own in (sp.Symbol("s1", real=True), sp.Symbol("S1", positive=True), sp.Symbol("S1_12", real=True)):
        h = decaying(own)
        with pytest.raises(DeclarationError, match=f"{own} is a kernel or a name of the program's own"):
            sr.Layer(z + sr.Dense(h(sr.Dense(h(z)))))


def test_a_parameter_that_is_called_like_a_step_of_the_quantity_is_refused():
    h = decaying(sp.Symbol("S1", real=True))
    with pytest.raises(DeclarationError, match=TWICE.format("S1")):
        _ = sr.derive(sr.Layer(z + sr.Dense(h(sr.Dense(h(z)))))).kernel_map


@pytest.mark.parametrize(
    ("sign", "value", "words"),
    [
        ("positive", -1, "it is negative; pass b > 0"),
        ("nonnegative", -1, "it is negative; pass b >= 0"),
        ("negative", 1, "it is positive; pass b < 0"),
        ("nonpositive", 1, "it is positive; pass b <= 0"),
    ],
)
def test_a_value_of_the_wrong_sign_is_refused_with_the_right_one(sign, value, words):
    quantity = sr.expect(decaying(sp.Symbol("b", **{sign: True})))
    with pytest.raises(DeclarationError, match=words):
        quantity.evalf(10, K=1, b=value)
    assert quantity.evalf(10, K=1, b=-value) > 0


def test_kernels_may_vanish():
    with pytest.raises(DeclarationError, match="pass K >= 0"):
        sr.expect("relu").evalf(10, K=-1)
    assert sr.expect("relu").evalf(10, K=0) == 0


def test_symbols_cannot_be_put_in_and_the_message_says_what_to_do():
    elu, new = sr.activation("elu"), sp.Symbol("a2", positive=True)
    with pytest.raises(DeclarationError, match=r"alpha = a2 is not a number; .*phi.expr.subs\(alpha, ...\)"):
        elu.subs(alpha=new)
    (alpha,) = elu.parameters
    made = sr.Activation("renamed", elu.expr.subs(alpha, new), parameters=(new,))
    assert made.parameters == (new,)
    for given in (elu, elu.formula, elu.formula.xreplace({alpha: new})):
        with pytest.raises(
            DeclarationError, match=r"is an activation, not an expression; pass its formula in z, \.expr"
        ):
            sr.Activation("renamed", given, parameters=(new,))
