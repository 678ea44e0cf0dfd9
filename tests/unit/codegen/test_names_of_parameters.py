"""Names of parameters mean nothing: no name that a user chooses meets one of those that generated code makes itself."""

import ast
import inspect
import re
import subprocess
from dataclasses import replace
from functools import cache

import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen import generate
from symres.codegen.planning.plan import Component
from symres.codegen.targets.c.compiling import compiler
from symres.codegen.targets.c.text import public
from symres.codegen.wording.function_names import signature
from symres.core.errors import DeclarationError
from symres.core.symbols import SHARED, K, z
from symres.results.quantity import Quantity, Status
from tests.languages import language

B = sp.Symbol("be", real=True)
POINT = {"K": 1.3, "K1": 1.3, "K2": 0.6, "C": 0.4, "be": 0.75}
# what generated code calls things, now or in an earlier shape, and what Python and its libraries call things
NASTY = {
    "t", "t0", "t1", "t2", "t3", "t10", "a", "a1", "a2", "a3", "b", "b1", "p7", "c0", "r0", "r1", "s", "s1", "s1_0",
    "f", "f1", "g", "k", "k1", "m", "mean", "mean1", "variance1", "near0", "middle0", "inner1", "safe1", "largest1",
    "u", "v", "w", "y", "scale", "value", "determinant", "correlation", "complement", "positive", "inside", "kind",
    "points", "parts", "mass", "square", "axes", "scratch", "fine", "exact", "out", "np", "torch", "special",
    "math", "functools", "ctx", "gradient", "self", "digits", "len", "sum", "min", "max", "range", "list", "tuple",
    "lambda", "class", "None", "True", "average_1", "_average_1", "_average_1_a1", "_expect", "_blocks", "_tiles",
    "_CACHED", "_of_one_type", "K_given", "x", "y1", "S1",
}  # fmt: skip


def phi(formula):
    return sr.Activation("h", formula, parameters=(B,))


def decaying(name):
    """exp(-p |z|) with a parameter p of some name."""
    p = sp.Symbol(name, positive=True)
    return sr.Activation("h", sp.exp(-p * sp.Abs(z)), parameters=(p,))


KINDS = {
    "closed": lambda: sr.expect(phi(sp.exp(-(B**2) * sp.Abs(z))), mean=sp.Rational(1, 3)),
    "mean": lambda: sr.expect("relu", mean=B),
    "tiles": lambda: sr.expect2("erf", phi(sp.erf(B * z))),
    "angles": lambda: sr.expect2(phi(sp.Max(z, 0) + B * sp.Min(z, 0)), "gelu"),
    "fit": lambda: sr.expect(sr.activation("swish")(z) ** 2),
    "line": lambda: sr.expect("tanh", mean=B),
    "plane": lambda: sr.expect2("sin", phi(sp.tanh(B * z))),
    "kinks": lambda: sr.expect2("tanh", phi(sp.Max(z - B, 0) ** 2)),
    "tilted": lambda: sr.expect2("hard_tanh", "elu"),
    "signs": lambda: sr.expect2("hard_tanh", phi(sp.Max(z - B, 0))),
    "jumps": lambda: sr.expect2("tanh", phi(sp.Heaviside(z - B, sp.Rational(1, 2)) * sp.tanh(z))),
    "slope": lambda: sr.derivative(sr.expect2("tanh", phi(sp.Heaviside(z - B, sp.Rational(1, 2)))), "C"),
}


@cache
def made(kind):
    """A quantity, its parameter called ``be``."""
    quantity = KINDS[kind]()
    (parameter,) = set(quantity.symbols) - set(SHARED.values())
    return called(quantity, parameter, "be")


def called(quantity: Quantity, parameter: sp.Symbol, name: str) -> Quantity:
    new = {parameter: sp.Symbol(name, **parameter.assumptions0)}
    return replace(
        quantity,
        symbols=tuple(new.get(s, s) for s in quantity.symbols),
        definition=quantity.definition.xreplace(new),
        body=quantity.body.xreplace(new),
    )


def parameter_of(quantity):
    (found,) = set(quantity.symbols) - set(SHARED.values())
    return found


def assigned(text):
    """Every name that the functions of a module give to something, helpers included; those of arguments apart."""
    names, arguments = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            arguments.add(node.arg)
    return names, arguments


CASES = [(kind, target) for kind in KINDS for target in ("numpy", "torch")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "target"), CASES)
def test_no_name_of_the_code_looks_like_that_of_a_parameter(kind, target):
    """A letter first and an underscore last."""
    names, arguments = assigned(sr.export(made(kind), target).text)
    mixed = {name for name in names if name[0].isalpha() and name.endswith("_")}
    assert mixed <= arguments and "be_" in arguments
    assert "be" in arguments
    assert "be" not in names or target == "torch"  # the public function there makes tensors of its arguments


def as_it_stands(name, symbols, formula, *options, **more):
    """A component whose code is its formula: names are tried in hundreds of modules, and their errors not measured."""
    return Component(name, symbols, formula, formula)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("kind", ["closed", "mean", "tiles", "angles"])
def test_values_and_gradients_are_the_same_whatever_the_parameter_is_called(kind, target, monkeypatch):
    monkeypatch.setattr(generate, "build_component", as_it_stands)
    quantity = made(kind)
    numbers = [POINT[str(s)] for s in quantity.symbols]
    exact = float(quantity.evalf(15, **{str(s): v for s, v in zip(quantity.symbols, numbers, strict=True)}))
    expected = None
    for name in ["be", *sorted(NASTY - set(SHARED))]:
        own = called(quantity, parameter_of(quantity), name)
        function = getattr(sr.export(own, target).load(), own.name)
        assert float(language(target).value(function, *numbers)) == pytest.approx(exact, rel=1e-12), name
        if target == "torch":
            slopes = list(map(float, language(target).slopes(function, *numbers)))
            expected = expected or slopes
            assert slopes == pytest.approx(expected, rel=1e-12), name


@pytest.mark.exhaustive
def test_gradients_in_parameters_that_differ_in_a_letters_case():
    a, b = sp.Symbol("ab", positive=True), sp.Symbol("aB", positive=True)
    quantity = sr.expect2(sr.Activation("f", sp.tanh(a * z), (a,)), sr.Activation("g", sp.atan(b * z), (b,)))
    found = sr.export(quantity, "torch").load().expect2
    numbers = dict(K1=1.3, K2=0.6, C=0.4, ab=0.75, aB=1.5)
    tensors = {name: torch.tensor(v, dtype=torch.float64).requires_grad_() for name, v in numbers.items()}
    found(**tensors).backward()
    for name in ("ab", "aB"):
        exact = float(sr.derivative(quantity, name).evalf(15, **numbers))
        assert float(tensors[name].grad) == pytest.approx(exact, rel=1e-10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["t0", "a2", "s1", "f1", "value", "b1", "p7", "S1", "y1"])
def test_names_of_temporaries_and_kernels_from_end_to_end(name):
    """Nothing is replaced here: what a user does. A component is measured, and has a value at parallel inputs."""
    mean = sr.expect(decaying(name), mean=sp.Rational(1, 3))
    assert sr.export(mean).load().expect(1.3, **{name: 0.75}) == pytest.approx(0.554391326767, rel=1e-11)
    pair = sr.expect2("relu", decaying(name))
    exact = float(pair.evalf(15, K1=1.3, K2=0.6, C=0.4, **{name: 0.75}))
    for target in ("numpy", "torch"):
        found = float(sr.export(pair, target).load().expect2(1.3, 0.6, 0.4, **{name: 0.75}))
        assert found == pytest.approx(exact, rel=1e-12)
    p = sp.Symbol(name, positive=True)
    quantity = sr.expect2(sr.Activation("h", sp.erf(p * z), (p,)), sr.Activation("g", sp.Max(z - p, 0), (p,)))
    module = sr.export(quantity)
    text = " ".join(module.text.split())
    assert "rounding of the operations shown" not in text and f"with {name} = 12" in text
    exact = float(quantity.evalf(15, K1=0.7, K2=0.7, C=0.7, **{name: 0.75}))
    assert module.load().expect2(0.7, 0.7, 0.7, 0.75) == pytest.approx(exact, rel=1e-12)


@pytest.mark.exhaustive
def test_a_mean_that_is_called_like_a_kernel_with_a_number():
    """The average given one input has a mean in kernels: they stand for themselves, also beside a K1_given."""
    p = sp.Symbol("K1_given", positive=True)
    step, smooth = sr.Activation("h", sp.Heaviside(z - p, sp.Rational(1, 2)), (p,)), "tanh"
    slope = sr.derivative(sr.expect2(step, smooth), "K1")
    numbers = dict(K1=1.3, K2=0.6, C=0.4, K1_given=0.75)
    found = getattr(sr.export(slope).load(), slope.name)(**numbers)
    assert found == pytest.approx(float(slope.evalf(15, **numbers)), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("out", "out_"),
        ("lambda", "lambda_"),
        ("np", "np"),
        ("t0", "t0"),
        ("_x", "x"),
        (r"\alpha", "alpha"),
        ("2a", "p2a"),
    ],
)
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_the_signature_has_the_users_name_or_says_what_it_is(name, shown, target):
    module = sr.export(sr.expect(decaying(name)), target)
    function = module.load().expect
    exact = float(sr.expect(decaying("be")).evalf(15, K=1.3, be=0.75))
    assert float(function(K=1.3, **{shown: 0.75})) == pytest.approx(exact, rel=1e-13)
    meaning = "parameter of the layer or of an activation;"
    assert f"{shown}: {'' if name == shown else f'{name}, '}{meaning}" in function.__doc__


def test_the_slope_in_a_symbol_that_is_no_name_of_python():
    slope = sr.derivative(sr.expect(decaying(r"\alpha")), r"\alpha")
    (name,) = (module := sr.export(slope)).functions
    assert name == "dexpect_d_alpha"
    exact = float(slope.evalf(15, **{"K": 1.3, r"\alpha": 0.75}))
    assert getattr(module.load(), name)(K=1.3, alpha=0.75) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(("one", "other"), [("out", "out_"), ("a b", "a_b"), ("_w", "w")])
def test_arguments_that_would_have_one_name_are_refused(one, other):
    p, q = sp.Symbol(one, positive=True), sp.Symbol(other, positive=True)
    with pytest.raises(DeclarationError, match=r"both would be called .*; rename one of them"):
        sr.export(sr.expect(sr.Activation("h", sp.exp(-p * sp.Abs(z)) + sp.exp(-q * z**2), parameters=(p, q))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_is_passed_by_place_is_the_same_parameter_everywhere_or_refused(target):
    module = sr.export(sr.derive(sr.residual(sr.Activation("h", sp.tanh(B * z), parameters=(B,)))), target).load()
    whole = {"K": 1.3, "C_W": 1.7, "C_b": 0.3, "gamma": 0.5, "be": 0.75}
    for name in ("kernel_map", "chi_parallel", "chi_perp", "h"):
        function = getattr(module, name)
        by_name = float(function(**whole))
        places = list(inspect.signature(function).parameters.values())
        by_place = [p.name for p in places if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert by_place == [n for n in whole if n in by_place]  # those that are left have one order
        rest = {n: v for n, v in whole.items() if n not in by_place}
        assert float(function(*(whole[n] for n in by_place), **rest)) == by_name
        if rest:
            with pytest.raises(TypeError):
                function(*whole.values())
    assert module.chi_perp(1.3, 1.7, 0.5, 0.75) == module.chi_perp(**whole)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("layer", ["mlp", "residual"])
@pytest.mark.parametrize("formula", ["relu", "gelu", "tanh(z)+sign(z)", "z"])
def test_no_place_has_two_parameters(formula, layer, target):
    """The gelu layers ignore C_b in some functions, and gamma in others, before and behind what they need."""
    module = sr.export(sr.derive(getattr(sr, layer)(formula)), target)
    loaded, at = module.load(), {"K": 1.3, "K1": 1.3, "K2": 0.8, "C": 0.4}
    meanings = {}
    for name in module.functions:
        kinds = inspect.signature(getattr(loaded, name)).parameters.values()
        places = [p.name for p in kinds if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in at]
        demanded = [p.name for p in kinds if p.default is p.empty and p.name not in at]
        for count in range(len(demanded), len(places) + 1):  # the calls that are not refused
            meanings.setdefault(count, set()).add(tuple(places[:count]))
    assert all(len(found) == 1 for found in meanings.values())


def test_an_ignored_parameter_has_no_place_behind_another_one():
    """f(1, 2, 3) would be C_W = 2 in one function and C_b = 2 in the other."""
    C_W, C_b, gamma = (SHARED[name] for name in ("C_W", "C_b", "gamma"))
    one = Quantity("one", (K, C_W), K * C_W, K * C_W, Status.EXACT, unused=(C_b, gamma))
    other = Quantity("other", (K, C_b, gamma), K * C_b * gamma, K * C_b * gamma, Status.EXACT, unused=(C_W,))
    assert signature(one, (one, other)) == "K, C_W, *, C_b=0.0, gamma=0.0"
    assert signature(other, (one, other)) == "K, C_b, gamma, *, C_W=0.0"


def test_a_parameter_that_is_ignored_has_a_place_where_no_function_needs_another_one():
    module = sr.export(sr.derive(sr.mlp("gelu"))).load()
    assert module.chi_perp(1.3, 1.7, 0.3) == module.chi_perp(1.3, C_W=1.7, C_b=0.3)
    module = sr.export(sr.derive(sr.residual("gelu"))).load()
    assert module.chi_perp(1.3, 1.7, 0.5) == module.chi_perp(1.3, C_W=1.7, gamma=0.5)
    with pytest.raises(TypeError):
        module.h(1.3, 1.7, 0.5)


WORDS = ("α", "α_1", "é", "中", "NULL", "NAN", "offsetof", "class", "linux", "size_t", r"\input{x}", "a%b", "self",
         "text", "what", "a" * 100)  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_a_word_of_a_language_is_a_name_like_any_other(name):
    """In every value, in NumPy and C, and in LaTeX, where it is no command."""
    quantity = sr.expect(decaying(name))
    exact = float(sr.expect(decaying("be")).evalf(15, K=1.3, be=0.75))
    assert float(quantity.evalf(15, K=1.3, **{name: 0.75})) == pytest.approx(exact, rel=1e-14)
    for target in ("numpy", "c"):
        assert sr.export(quantity, target).load().expect(1.3, 0.75) == pytest.approx(exact, rel=1e-13)
    text = sr.export(quantity, "latex").text
    body = text[text.index(r"\begin{document}") :]
    assert r"\input" not in body and "a%b" not in body and body.isascii()


def test_parameters_may_be_called_like_the_arguments_of_functions():
    for name in ("self", "text", "what"):
        phi = sr.activation(f"tanh({name}*z)", **{name: 2})
        assert phi.expr == sp.tanh(2 * z)
        own = sp.Symbol(name, real=True)
        theory = sr.derive(sr.layer(f"{name}*z + Dense(phi(z))", phi="relu", **{name: own}))
        numbers = {"C_W": 1, "C_b": 0, name: 2}
        assert float(theory.kernels(1, 1, **numbers)[1]) == pytest.approx(4.5)
        assert theory.subs(**{name: 2}).kernel_map(K=1, C_W=1, C_b=0) == pytest.approx(4.5)


def test_no_macro_of_a_header_is_the_name_of_a_parameter():
    """What the compiler itself says that it defines."""
    module = sr.export(sr.expect2("erf", "relu"), "c").text
    command = [compiler(), "-dM", "-E", "-x", "c", "-"]
    listed = subprocess.run(command, input=module, capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"^#define ([A-Za-z]\w*) ", listed, re.MULTILINE)
    assert len(macros) > 50
    assert [name for name in macros if public(sp.Symbol(name, positive=True)) == name] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["tiles", "angles", "closed"])
def test_long_names_are_named_where_they_are_used(kind):
    quantity = called(KINDS[kind](), B, "a" * 100)
    point = {str(s): POINT.get(str(s), 0.75) for s in quantity.symbols}
    found = float(getattr(sr.export(quantity).load(), quantity.name)(**point))
    assert found == pytest.approx(float(quantity.evalf(15, **point)), rel=1e-12)
