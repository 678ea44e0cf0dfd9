"""The intermediate form says what the theory says, and every language computes what the intermediate form says."""

from dataclasses import replace
from functools import cache
from itertools import product

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen import targets
from symres.codegen.generate import planned_function, planner_for
from symres.codegen.planning.network_plan import deep_layer, maps_of
from symres.core.errors import SymresError
from symres.functions.balls import evaluate
from tests.languages import language
from tests.oracles.interpreter import Interpreter

DIGITS, ROUNDING = 40, mp.mpf("1e-25")
PARAMETERS = {"C_W": 1.3, "C_b": 0.2, "gamma": 0.75, "xi": 0.5, "alpha": 0.875}
INPUTS = [
    {"K1": 0.7, "K2": 1.9, "C": 0.4},
    {"K1": 1e-3, "K2": 30.0, "C": -0.1},
    {"K1": 2.0, "K2": 2.0, "C": 2 * (1 - 1e-12)},
    {"K1": 5.0, "K2": 5.0, "C": -5.0},
    {"K1": 1e-6, "K2": 1e-6, "C": 3e-7},
]
# activation, layer -> how far the intermediate form is from the theory: of rules and fits; 0 for closed forms
CASES = {
    ("relu", "mlp"): 0, ("gelu", "residual"): 0, ("erf", "pre_ln"): 0, ("sin", "mlp"): 0, ("step", "mlp"): 0,
    ("z^3 + relu(z)", "residual"): 0, ("erf(z)*z", "gamma*z + xi*Dense(phi(LayerNorm(z)))"): 0,
    ("hard_tanh", "mlp"): 1e-14, ("elu", "residual"): 1e-14, ("selu", "mlp"): 1e-14, ("hard_swish", "pre_ln"): 1e-13,
    ("tanh", "mlp"): 2e-14,
}  # fmt: skip
# the slope of a step is infinite for parallel inputs, averages of two tanh are no steps but sums in a library
PART = {"step": ("kernel_map", "covariance_map"), "tanh": ("kernel_map", "chi_parallel")}
WHOLE = [case for case in CASES if case[0] not in PART]
QUANTITIES = ("kernel_map", "covariance_map", "chi_parallel", "chi_perp", "ntk_map")
TABLE = [(case, name) for case in CASES for name in PART.get(case[0], QUANTITIES)]


@cache
def planned(activation, layer):
    """The theory, its functions by name, and the interpreter of their components."""
    theory, reference = sr.derive(activation, layer), targets.find(targets.REFERENCE)
    planner = planner_for(reference)
    names = [name for case, name in TABLE if case == (activation, layer)]
    functions = {name: planned_function(planner, reference, theory.all_quantities[name]) for name in names}
    return theory, functions, Interpreter(tuple(planner.components.values()), integrate)


def integrate(formula, numbers):
    return evaluate(formula, numbers, DIGITS)[0]


def numbers_of(function, inputs):
    """All arguments of a function by name; one input has the first kernel."""
    every = {**PARAMETERS, "K": inputs["K1"], "Theta": 0.6, **inputs}
    return {s.name: every[s.name] for s in function.arguments}


def of_theory(quantity, numbers):
    """The value to 40 digits; None where the theory's formula is 0/0, as for parallel inputs."""
    formula = quantity.definition if quantity.expr is None else quantity.expr
    try:
        return evaluate(formula, {s: sp.Rational(numbers[s.name]) for s in quantity.symbols}, DIGITS)[0]
    except SymresError:
        return None


@pytest.mark.sample(4)
@pytest.mark.parametrize(("case", "name"), TABLE, ids=str)
def test_the_intermediate_form_is_the_theory(case, name):
    theory, functions, interpreter = planned(*case)
    compared = 0
    for inputs in INPUTS:
        numbers = numbers_of(functions[name], inputs)
        with mp.workdps(DIGITS):
            exact = of_theory(theory.all_quantities[name], numbers)
            if exact is not None:
                found = interpreter.function(functions[name], numbers)
                assert abs(found - exact) <= (CASES[case] + ROUNDING) * max(abs(exact), abs(inputs["C"])), inputs
                compared += 1
    assert compared >= len(INPUTS) - 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", WHOLE, ids=" in ".join)
def test_a_layer_of_a_network_is_its_maps(case):
    """What each input has of its own is computed with that input."""
    theory, functions, interpreter = planned(*case)
    maps = [functions[quantity.name] for quantity in maps_of(theory)]
    layer = deep_layer("layer", "layer", maps, targets.find(targets.REFERENCE).inlined)
    state = {"K1": 0.7, "K2": 1.9, "C": 0.4, "Theta": 0.6}
    with mp.workdps(DIGITS):
        found = interpreter.layer(layer, [mp.mpf(x) for x in state.values()], PARAMETERS)
        kernel, covariance, tangent = maps
        of_first, of_second = ({**PARAMETERS, "K": state[k]} for k in ("K1", "K2"))
        both = {**PARAMETERS, **state}
        exact = [interpreter.function(kernel, n) for n in (of_first, of_second)]
        exact += [interpreter.function(f, both) for f in (covariance, tangent)]
        for one, other in zip(found, exact, strict=True):
            assert abs(one - other) <= (CASES[case] + ROUNDING) * abs(other)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("case", "target"), product(WHOLE, targets.names()), ids=str)
def test_every_language_computes_what_the_intermediate_form_says(case, target):
    theory, functions, interpreter = planned(*case)
    tool, function = language(target), functions["covariance_map"]
    columns = np.transpose([[*inputs.values()] for inputs in INPUTS])
    parameters = {s.name: PARAMETERS[s.name] for s in function.arguments if s.name in PARAMETERS}
    values = tool.value(tool.load(theory.covariance_map).covariance_map, *columns, **parameters)
    for value, inputs in zip(values, INPUTS, strict=True):
        with mp.workdps(DIGITS):
            exact = interpreter.function(function, numbers_of(function, inputs))
        assert abs(value - exact) <= 1e-13 * max(abs(exact), abs(inputs["C"])), inputs


def test_a_wrong_coefficient_is_seen():
    theory, functions, interpreter = planned("gelu", "residual")
    numbers = numbers_of(functions["covariance_map"], INPUTS[0])
    for name, component in interpreter.components.items():
        if component.is_pair and isinstance(component.code, sp.Expr):
            wrong = replace(component, code=component.code * (1 + sp.Rational(1, 10**20)))
            other = Interpreter([*interpreter.components.values(), wrong], integrate)
            with mp.workdps(DIGITS):
                exact = of_theory(theory.covariance_map, numbers)
                assert abs(other.function(functions["covariance_map"], numbers) - exact) > ROUNDING, name
            return
    raise AssertionError("no component of two inputs")
