"""The catalogue: every entry against a function written by hand, and how activations are found."""

import re
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations import catalogue
from symres.activations.catalogue import Catalogue, CatalogueEntry, activation, activations
from symres.core.errors import DeclarationError
from symres.core.symbols import z
from symres.functions.companions import Sigmoid
from symres.layers.equation_parser import written
from tests.oracles.sections import CATALOGUE, PARAMETERS, sections

PLACES = [
    "-40",
    "-9.5",
    "-6",
    "-3.25",
    "-2.9",
    "-17/16",
    "-1e-3",
    "0",
    "1e-6",
    "0.5",
    "0.99",
    "7/4",
    "3.5",
    "5.9",
    "30",
]
POINTS = [sp.Rational(place) for place in PLACES]

T, LEVEL, VALUE = sp.Symbol("threshold", positive=True), *sp.symbols("level value", real=True)

# name: (parity, homogeneity, breakpoints, jumps, growth)
FACTS = {
    "relu": (None, 1, [0], [], "zero on the left, linear on the right"),
    "leaky_relu": (None, 1, [0], [], "at most linear on the left, linear on the right"),  # the slope may be 0
    "scale_invariant": (None, 1, [0], [], "at most linear"),
    "abs": ("even", 1, [0], [], "linear"),
    "linear": ("odd", 1, [], [], "linear"),
    "sign": ("odd", 0, [0], [(0, 2)], "bounded"),
    "step": (None, 0, [0], [(0, 1)], "zero on the left, bounded on the right"),
    "erf": ("odd", None, [], [], "bounded"),
    "gelu": (None, None, [], [], "decaying on the left, linear on the right"),
    "gelu_tanh": (None, None, [], [], "decaying on the left, linear on the right"),
    "tanh": ("odd", None, [], [], "bounded"),
    "sigmoid": (None, None, [], [], "decaying on the left, bounded on the right"),
    "silu": (None, None, [], [], "decaying on the left, linear on the right"),
    "swish": (None, None, [], [], "decaying on the left, linear on the right"),
    "softplus": (None, None, [], [], "decaying on the left, linear on the right"),
    "log_sigmoid": (None, None, [], [], "linear on the left, decaying on the right"),
    "mish": (None, None, [], [], "decaying on the left, linear on the right"),
    "elu": (None, None, [0], [], "bounded on the left, linear on the right"),
    "selu": (None, None, [0], [], "bounded on the left, linear on the right"),
    "celu": (None, None, [0], [], "bounded on the left, linear on the right"),
    "sin": ("odd", None, [], [], "bounded"),
    "cos": ("even", None, [], [], "bounded"),
    "snake": (None, None, [], [], "linear"),
    "gaussian_slope": ("odd", None, [], [], "decaying"),
    "bell": ("even", None, [], [], "decaying"),
    "hard_tanh": ("odd", None, [-1, 1], [], "bounded"),
    "relu6": (None, None, [0, 6], [], "zero on the left, bounded on the right"),
    "hard_sigmoid": (None, None, [-3, 3], [], "zero on the left, bounded on the right"),
    "hard_swish": (None, None, [-3, 3], [], "zero on the left, linear on the right"),
    "hardshrink": ("odd", None, [-T, T], [(-T, T), (T, T)], "linear"),
    "softshrink": ("odd", None, [-T, T], [], "linear"),
    "tanhshrink": ("odd", None, [], [], "linear"),
    "threshold": (None, None, [LEVEL], [(LEVEL, LEVEL - VALUE)], "bounded on the left, linear on the right"),
    "softsign": ("odd", None, [0], [], "bounded"),
    "square": ("even", 2, [], [], "quadratic"),
    "cube": ("odd", 3, [], [], "cubic"),
}


def test_every_entry_has_an_oracle_and_facts():
    assert list(activations) == list(CATALOGUE) == list(FACTS)


@pytest.fixture(params=list(activations))
def name(request):
    return request.param


def fixed(name):
    return activations[name].subs(**PARAMETERS.get(name, {}))


def assert_same(found, expected):
    """To 28 digits, of what floats can hold."""
    tolerance = mp.mpf(10) ** -28 * abs(expected) + mp.mpf(10) ** -300
    assert abs(sp.N(found, 30, maxn=5000) - expected) <= tolerance


def test_formula_and_slope_have_the_values_of_the_hand_written_function(name):
    """Pieces, too; slopes away from breakpoints."""
    phi, function = fixed(name), sections(name)
    pieces, slopes = phi.pieces, phi.pieces.diff()
    with mp.workdps(40):
        for point in POINTS:
            assert_same(phi.expr.subs(z, point), function.value(point))
            if point not in pieces.breaks:
                assert_same(pieces.part_at(point).subs(z, point), function.value(point))
                assert_same(slopes.part_at(point).subs(z, point), function.slope.value(point))


def test_facts(name):
    phi = activations[name]
    parity, homogeneity, breakpoints, jumps, growth = FACTS[name]
    assert (phi.parity, phi.homogeneity, str(phi.growth)) == (parity, homogeneity, growth)
    assert (list(phi.breakpoints), list(phi.jumps)) == (breakpoints, jumps)
    assert phi.is_continuous == (not jumps)
    assert phi.source


def test_facts_hold_for_the_hand_written_function(name):
    parity, homogeneity, breakpoints, jumps, _ = FACTS[name]

    def values(factor):
        return np.array([float(sections(name).value(factor * point)) for point in POINTS])

    for candidate, sign in {"even": 1.0, "odd": -1.0}.items():
        agrees = np.allclose(values(-1), sign * values(1), rtol=1e-13, atol=1e-13)
        assert agrees == (parity == candidate)
    degrees = [p for p in range(4) if np.allclose(values(3), 3.0**p * values(1), rtol=1e-13, atol=1e-13)]
    assert degrees == ([] if homogeneity is None else [homogeneity])
    numbers = {p: PARAMETERS[name][str(p)] for p in activations[name].parameters}
    assert set(sections(name).breaks) == {sp.sympify(b).subs(numbers) for b in breakpoints}
    assert sections(name).jumps() == [tuple(sp.sympify(e).subs(numbers) for e in jump) for jump in jumps]


def test_selu_has_the_fixed_point_that_its_constants_were_made_for():
    """<selu> = 0 and <selu^2> = 1 at K = 1, solved for the two constants to all digits that the catalogue has."""
    left, right = activations["selu"].pieces.parts
    scale, product = right.coeff(z), left.coeff(sp.exp(z))
    assert left == product * sp.exp(z) - product and right == scale * z
    with mp.workdps(40):
        below = mp.sqrt(mp.e) * mp.ncdf(-1) - mp.mpf(1) / 2  # <e^z - 1 for z < 0>
        square = mp.e**2 * mp.ncdf(-2) - 2 * mp.sqrt(mp.e) * mp.ncdf(-1) + mp.mpf(1) / 2
        alpha = -1 / mp.sqrt(2 * mp.pi) / below
        lam = 1 / mp.sqrt(mp.mpf(1) / 2 + alpha**2 * square)
        assert abs(mp.mpf(scale.p) / scale.q - lam) < mp.mpf(10) ** -30
        assert abs(mp.mpf(product.p) / product.q - lam * alpha) < mp.mpf(10) ** -30


# ---- finding ---------------------------------------------------------------------------------------------------
def test_found_by_name_and_cached():
    assert activation("gelu") is activations["gelu"] is activation(activations["gelu"])
    assert activation(" gelu ").name == "gelu"


@pytest.mark.parametrize(
    ("text", "name", "expr"),
    [
        ("leaky_relu(0.01)", "leaky_relu(slope=1/100)", sp.Piecewise((z, z > 0), (z / 100, True))),
        ("leaky_relu( slope = 1/5 )", "leaky_relu(slope=1/5)", sp.Piecewise((z, z > 0), (z / 5, True))),
        ("elu(alpha=1)", "elu(alpha=1)", sp.Piecewise((z, z > 0), (sp.exp(z) - 1, True))),
        ("scale_invariant(1, a_minus=0)", "scale_invariant(a_plus=1, a_minus=0)", sp.Piecewise((z, z > 0), (0, True))),
        ("relu(z)", "relu(z)", sp.Max(0, z)),
        ("x^2", "x^2", z**2),
        ("z ** 2", "z^2", z**2),
        ("gelu(2*z) - relu(z)", "gelu(2*z)-relu(z)", None),
        ("leaky_relu(z, 0.5)", "leaky_relu(z,0.5)", sp.Piecewise((z, z > 0), (z / 2, True))),
    ],
)
def test_found_by_call_or_formula(text, name, expr):
    phi = activation(text)
    assert phi.name == name and phi.parameters == ()
    assert expr is None or phi.expr == expr


def test_parameters_of_activations_used_as_functions_are_declared():
    phi = activation("elu(z)^2 + swish(z)")
    assert list(map(str, phi.parameters)) == ["alpha", "beta"]
    assert activation("elu(z) + z", alpha=1).parameters == ()


def test_values_by_keyword():
    assert activation("elu", alpha="1/2") == activations["elu"].subs(alpha=sp.Rational(1, 2))
    assert activation("tanh(k*z)", k=2).expr == sp.tanh(2 * z)
    assert activation("abs(alpha*z)", alpha=-1).expr == sp.Abs(z)
    k = sp.Symbol("k", positive=True)
    assert activation("tanh(k*z)", k=k).parameters == (k,)
    for bad in ({"k": "two"}, {"alpha": 1, "k": 1}):
        with pytest.raises(DeclarationError):
            activation("tanh(k*z)", **bad)


def test_numbers_go_into_a_formula_as_it_was_typed():
    name = activation("where(z > a, z - a, where(z < -a, z + a, 1e1*b))", a="1/2", b=-3).name
    assert name == "where(z>(1/2),z-(1/2),where(z<-(1/2),z+(1/2),1e1*(-3)))"
    assert activation(name).expr == activation("where(z > 1/2, z - 1/2, where(z < -1/2, z + 1/2, -30))").expr


def test_branches_of_branches_are_one_list():
    assert len(activation("where(z > 1, z - 1, where(z < -1, z + 1, 0))").expr.args) == 3


@pytest.mark.parametrize("name", ["z", "x"])
def test_the_preactivation_is_no_parameter(name):
    with pytest.raises(DeclarationError, match=f"{name} is the preactivation"):
        activation(f"tanh({name})", **{name: 1})


def test_a_sympy_expression_is_an_activation():
    phi = activation(activations["relu"](z) ** 2 + z)
    assert phi.expr == sp.Max(0, z) ** 2 + z and phi.name == "z+relu(z)^2"


# ---- the mapping -----------------------------------------------------------------------------------------------
def test_read_only():
    with pytest.raises(TypeError):
        activations["new"] = activations["relu"]
    with pytest.raises(TypeError):
        del activations["relu"]
    with pytest.raises(KeyError):
        activations["nothing"]


def test_an_entry_is_one_line_and_leaves_the_catalogue_alone():
    k = sp.Symbol("k", positive=True)
    more = activations.extended(CatalogueEntry("throw_away", "z*sigmoid(k*z)^2", "a test", (k,)))
    assert more["throw_away"].expr == z * Sigmoid(k * z) ** 2
    assert more.find("throw_away(3)").parameters == () and more.find("throw_away(z)^2").parameters == (k,)
    assert "throw_away" not in activations and len(more) == len(activations) + 1


def test_the_module_s_catalogue_is_looked_up_at_the_call(monkeypatch):
    monkeypatch.setattr(catalogue, "activations", activations.extended(CatalogueEntry("throw_away", "z^5", "a test")))
    assert activation("throw_away").expr == z**5


def test_names_are_unique_and_entries_use_earlier_ones_only():
    with pytest.raises(DeclarationError, match="occurs twice"):
        activations.extended(CatalogueEntry("relu", "z", "again"))
    with pytest.raises(DeclarationError, match="unknown function 'loop'"):
        Catalogue([CatalogueEntry("loop", "loop(z)", "itself")])["loop"]


def test_import_builds_no_activation():
    script = "from symres.activations.catalogue import activations; assert not activations._built"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", ["star_relu", "StarReLU", "relu2", "quick_gelu"])
def test_names_of_formulas_elsewhere(name):
    with pytest.raises(DeclarationError) as caught:
        activations.find(name)
    lead, _, formula = caught.value.remedy.partition(": ")
    assert lead == "write its formula" and activations.find(formula).expr.has(z)


@pytest.mark.parametrize(
    ("name", "phi"), [("glu", "sigmoid"), ("SwiGLU", "silu"), ("geglu", "gelu"), ("ReGLU", "relu")]
)
def test_gated_units_are_layers(name, phi):
    for text in (name, f"2*{name}(z)"):
        with pytest.raises(DeclarationError) as caught:
            activations.find(text)
        typed = re.search(r"derive (\w+) --layer '([^']*)'", caught.value.remedy)
        assert typed[1] == phi
        layer = written(typed[2], activations.find(phi))
        python = re.search(r"in Python (.*) with phi = (.*)$", caught.value.remedy)
        assert eval(python[1], {"sr": sr, "phi": eval(python[2], {"sr": sr})}) == layer


ALIASES = [
    ("prelu", "leaky_relu"),
    ("prelu(slope=1/4)", "leaky_relu(slope=1/4)"),
    ("rrelu", "leaky_relu(slope=11/48)"),
    ("logsigmoid", "log_sigmoid"),
]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_an_alias_is_the_entry(alias, name):
    assert activation(alias) == activation(name)
    assert alias not in list(activations)
    if "(" not in alias:
        assert activation(f"{alias}(z)^2").expr == activation(name).expr ** 2


@pytest.mark.parametrize("look", [
    lambda: activation("gaussian"),
    lambda: activations["gaussian"],
    lambda: activation("gaussian(z)"),
])  # fmt: skip
def test_a_name_whose_meaning_changed_is_told_once(look):
    with pytest.warns(FutureWarning, match="gaussian_slope now") as told:
        assert look().expr == sp.exp(-(z**2) / 2)
    assert len(told) == 1
    assert activation("gaussian_slope").expr == z * sp.exp(-(z**2) / 2)


def test_an_alias_that_is_an_entry_is_refused():
    with pytest.raises(DeclarationError, match="relu occurs twice"):
        Catalogue([CatalogueEntry("relu", "max(z, 0)", "")], [catalogue.Alias("relu", "relu")])
