"""Generated averages over two variables whose growth, waves and places of change depend on parameters.

The oracle is quadrature of the formulas as they are declared, in panels that crowd where they change.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen import targets
from symres.codegen.averages import average_code
from symres.codegen.emission.emitter import variable
from symres.core.symbols import z
from tests.languages import unmeasured
from tests.oracles.average import average_of_pair
from tests.shared import runtime

A, B, P = sp.Symbol("a", real=True), sp.Symbol("b", real=True), sp.Symbol("p", positive=True)
SOFTPLUS, BEND = sp.log(1 + sp.exp(z)), sp.log(sp.E - 1)
RHO = (0.3, -0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Case:
    """Two functions, or one twice, and where their product is averaged.

    Args:
        formula: in z and parameters.
        points: (K1, K2, correlation, then the parameters by their names).
        places: where it changes, besides 0, in the parameters.
        tolerance: relative to the geometric mean of both squares.
        reach: standard deviations beyond which nothing is left.
        other: the second function, without parameters.
        has_series: whether the average is that of public functions, which try series first, or by panels alone.
    """

    formula: sp.Expr
    points: list[tuple[float, ...]]
    places: list[sp.Expr] = field(default_factory=list)
    tolerance: float = 1e-12
    reach: float = 11.0
    other: sp.Expr | None = None
    has_series: bool = True

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """By their names."""
        return tuple(sorted(self.formula.free_symbols - {z}, key=str))

    @property
    def functions(self) -> tuple[sr.Activation, sr.Activation]:
        """Both of them as symres knows them."""
        f = sr.Activation("f", self.formula, self.parameters)
        return f, f if self.other is None else sr.Activation("g", self.other)


def refined(formula: sp.Expr, value: float, *places: sp.Expr) -> Case:
    """A function whose parameter acts where no scale is read off: steps are made shorter there."""
    return Case(formula, [(0.7, 0.7, rho, value) for rho in RHO], list(places), has_series=False)


REFINED = {
    "tanh of tanh": refined(sp.tanh(P * sp.tanh(z)), 12.0),
    "sin of tanh": refined(sp.sin(A * sp.tanh(z)), 30.0),
    "a power": refined((1 + z**2) ** (-A), 150.0),
    "a quotient": refined(1 / (1 + P * z**4), 1e4),
    "a bump": refined(z * sp.exp(-P * z**4), 1e4),
    "tanh of a cube": refined(sp.tanh(P * z**3), 1e4),
    "tanh of softplus": refined(sp.tanh(P * (SOFTPLUS - 1)), 300.0, BEND),
}
GROWING = {  # where inputs are equal they grow most
    "tanh": sp.exp(A * z) * sp.tanh(z),
    "softplus": SOFTPLUS * sp.exp(A * z),
    "cosh": sp.cosh(A * z) / (1 + z**2),
}
GATE, KINKED = 1 / (1 + sp.exp(-P * (z - B))), sp.Max(z - B, 0) * sp.tanh(P * z)
WAVES = [(1.0, 1.0, 0.9, 5.0, 0.1), (4.0, 4.0, -0.9, 2.5, 0.5), (25.0, 25.0, 0.8, 1.0, 0.2)]
CASES = {
    **REFINED,
    # the average of relu given one input is known; the rule over that input is refined as the others are
    **{
        f"{name}, relu": Case(
            case.formula, [(0.7, 2.0, rho, case.points[0][3]) for rho in (0.3, -0.95, 0.9999)], case.places,
            other=sp.Max(z, 0), has_series=False,
        )
        for name, case in REFINED.items() if name in ("tanh of tanh", "sin of tanh", "tanh of softplus")
    },
    **{f"growing {name}": Case(f, [(4.0, 4.0, 0.75, -1.5)], [], 1e-14, 17) for name, f in GROWING.items()},
    **{
        f"growing {name}, equal inputs": Case(
            f, [(9.0, 9.0, 1.0, -1.0), (20.0, 20.0, 1.0, 1.0), (1.0, 1.0, 1.0, 3.0)], [], 1e-13, 20
        )
        for name, f in GROWING.items()
    },
    "waves": Case(sp.sin(A * z + B) * sp.erf(z), WAVES, [], 4e-15),
    "cut waves": Case(sp.cos(A * z) * sp.Heaviside(z - B, 1), WAVES, [B], 4e-15),
    # places far out beside a small scale
    "faint gate": Case(GATE, [(0.38, 0.38, rho, 12.0, 12.0) for rho in (1.0, 0.5, -0.9)], [B], 1e-13, 30),
    "faint kink": Case(KINKED, [(0.00131,) * 2 + (rho, 0.75, 0.75) for rho in (1.0, 0.5, -0.9)], [B], 1e-13, 35),
}  # fmt: skip
LANGUAGES = ("numpy", "torch")
NUMPY_ALONE = ("faint gate", "faint kink")


def generated(case, quantity, target):
    """The code of an average, as yet unmeasured, of NumPy's arrays."""
    if case.has_series:
        return unmeasured(target, quantity)
    language = targets.find(target)
    source = average_code.source("_average_1", quantity.symbols, quantity.body, language.dialect)
    head = f"def _average_1({', '.join(map(variable, quantity.symbols))}):"
    code = [*source.preamble, head, *(f"    {line}" for line in source.lines)]
    space = runtime(language, *code)
    exec("\n".join([*(f"{name} = {value}" for name, value in source.tables), *code]), space)
    return partial(language.call, space["_average_1"])


def plain(formula, parameters, values):
    """A formula as a function of arrays."""
    shown = formula.replace(sp.Heaviside, lambda u, *_: sp.Piecewise((1, u > 0), (0, True)))
    f = sp.lambdify((z, *parameters), shown, ["scipy", "numpy"])
    return lambda x: f(x, *values)


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("name", "target"), [(n, t) for n in CASES for t in LANGUAGES if t == "numpy" or n not in NUMPY_ALONE]
)
def test_averages_have_the_digits_of_floats(name, target):
    case = CASES[name]
    average = generated(case, sr.expect2(*case.functions), target)
    for k1, k2, rho, *values in case.points:
        f = plain(case.formula, case.parameters, values)
        g = f if case.other is None else plain(case.other, (), ())
        places = [float(p.subs(dict(zip(case.parameters, values, strict=True)))) for p in case.places]
        sizes = [average_of_pair(h, h, k, k, k, places, case.reach) for h, k in ((f, k1), (g, k2))]
        c = rho * np.sqrt(k1) * np.sqrt(k2) if k1 != k2 else rho * k1
        exact = average_of_pair(f, g, k1, k2, c, places, case.reach)
        assert abs(float(average(k1, k2, c, *values)) - exact) < case.tolerance * np.sqrt(np.prod(sizes)), (rho, values)


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["tanh of tanh", "sin of tanh"])
def test_gradients_are_refined_too(name):
    """In the kernel and in the parameter, against differences of values."""
    quantity = sr.expect(REFINED[name].functions[0](z) ** 2)
    at = [0.7, REFINED[name].points[0][3]]
    tensors = [torch.tensor([v], dtype=torch.float64, requires_grad=True) for v in at]
    sr.export(quantity, target="torch").load().expect(*tensors).backward()
    for i, tensor in enumerate(tensors):
        steps = np.zeros((2, 4))
        steps[i] = 1e-3 * at[i] * np.array([2, 1, -1, -2])
        found = unmeasured("numpy", quantity)(*(np.array(at)[:, None] + steps))
        slope = found @ [-1, 8, -8, 1] / (12e-3 * at[i])
        assert float(tensor.grad) == pytest.approx(slope, rel=1e-6)


# ---- what cannot be had ------------------------------------------------------------------------------------------
HOPELESS = [
    *(("sin of tanh", target, (0.7, 1e6)) for target in LANGUAGES),
    *(("sin of tanh", "numpy", (0.7, 0.7, 0.7 * rho, 1e6)) for rho in (0.3, 0.99, 1.0)),
    *((name, "numpy", at) for name in ("waves", "cut waves") for at in ((1e4, 1e4, 9e3, 12.0, 0.1), (1e8, 12.0, 0.1))),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "target", "at"), HOPELESS)
def test_what_would_take_too_many_nodes_is_not_a_number(name, target, at):
    """Squares over one input, and products over two."""
    f, _ = CASES[name].functions
    quantity = sr.expect2(f, f) if len(at) - len(CASES[name].parameters) == 3 else sr.expect(f(z) ** 2)
    assert np.isnan(generated(CASES[name], quantity, target)(*at))


@pytest.mark.exhaustive
def test_modules_say_where_they_give_up():
    said = "nan where the function varies too fast"
    mean = sr.expect(REFINED["sin of tanh"].functions[0], mean=sp.Rational(1, 2))
    assert said in " ".join(sr.export(mean).text.split())
    assert said not in " ".join(sr.export(sr.expect2("tanh", "tanh")).text.split())
