"""``sr.compare``: activations side by side in one layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import sympy as sp

from ..activations.activation import Activation
from ..activations.catalogue import Declared, activation
from ..core.errors import DeclarationError, SymresError
from ..core.progress import Progress, reported
from ..core.scalars import Number
from ..core.symbols import gamma, z
from ..layers.equation_parser import layer as layer_of
from ..notation.decimals import plain_number
from ..results.compared_activations import ActivationComparison, Compared
from ..theory.quantities.expectations import expect
from ..theory.theory import Theory, derive
from .criticality_summary import CLASSES, first_usable


def compare(
    *activations: Declared, layer: str = "mlp", progress: bool | Progress = True, **parameters: Number
) -> ActivationComparison:
    """Compare activations: universality class, critical point, gains, nu and the optimal aspect ratio of each.

    Args:
        activations: two or more, each a name, a formula, an Activation or a PyTorch module; with numbers for their
            parameters, ``"leaky_relu(0.01)"``.
        layer: the name of an architecture, or a forward equation with ``phi``, for all of them.
        progress: whether a bar is shown on a terminal, or a function of what is derived and the share that is done.
        parameters: numbers for parameters of the layer or of activations, by name: ``gamma="1/2"``.

    Returns:
        A ActivationComparison; it prints as a table, and has ``latex()``, ``csv()``, ``frame()`` and ``records()``.

    Raises:
        DeclarationError: no activation, one that cannot be read, or one whose parameters have no numbers.
        UnsupportedLayer: a layer that cannot be derived.

    Examples:
        >>> table = sr.compare("relu", "abs", progress=False)
        >>> [(row.activation, row.C_W, round(row.nu, 6)) for row in table.rows]
        [('relu', 2.0, 5.0), ('abs', 1.0, 2.0)]
    """
    if not activations:
        raise DeclarationError("a comparison", "no activation is named", 'pass some: sr.compare("relu", "gelu")')
    declared = [activation(what) for what in activations]
    chosen = [_with_numbers(phi, parameters) for phi in declared]
    names = {str(symbol) for phi in declared for symbol in phi.parameters}
    left = {name: value for name, value in parameters.items() if name not in names}
    layers = [layer_of(layer, phi=phi, **left) for phi in chosen]
    rows = []
    with reported(progress, "compare") as report:
        for done, (phi, built) in enumerate(zip(chosen, layers, strict=True)):
            report(phi.name, done / len(chosen))
            rows.append(_compared(phi, derive(built)))
    settings = {name: str(value) for name, value in left.items()}
    settings |= {name: "0" for name in map(str, layers[0].parameters) if name == str(gamma)}  # of all numbers of rows
    classes = dict.fromkeys(row.universality_class for row in rows if row.C_W is None)
    notes = tuple(f"{name}: {CLASSES[name]}; symres derive shows critical lines" for name in classes)
    return ActivationComparison(layers[0].name, tuple(rows), settings, notes)


def _with_numbers(phi: Activation, values: Mapping[str, Number]) -> Activation:
    """An activation with numbers for its parameters.

    Raises:
        DeclarationError: one has none.
    """
    names = [str(symbol) for symbol in phi.parameters]
    missing = [name for name in names if name not in values]
    if missing:
        remedy = f"pass one: {phi.name}({missing[0]}=1/10), or {missing[0]}=1/10 for all"
        raise DeclarationError(f"{phi.name} in a comparison", f"its parameter {missing[0]} has no number", remedy)
    return phi.subs(**{name: values[name] for name in names})


def _compared(phi: Activation, theory: Theory) -> Compared:
    point, growth = first_usable(theory.critical_points), theory.growth_curve
    numbers = (None,) * 3 if point is None else tuple(map(_number, (point.K, point.C_W, point.C_b)))
    row = None if growth is None else next(growth.at(0.0))
    return Compared(
        activation=phi.name,
        universality_class=theory.universality_class,
        stability=None if point is None else point.stability,
        K=numbers[0],
        C_W=numbers[1],
        C_b=numbers[2],
        gain=None if numbers[1] is None else math.sqrt(numbers[1]),
        forward_gain=_gain(lambda: phi.expr),
        backward_gain=_gain(lambda: phi(z).diff(z)),
        nu=None if row is None else row.nu,
        aspect_ratio=None if row is None else row.aspect_ratio,
    )


def _number(value: sp.Expr) -> float | None:
    """A float, without a skip connection where its weight is free; None for a symbol."""
    number = plain_number(value)
    return number if isinstance(number, float) else None


def _gain(function: Callable[[], sp.Expr]) -> float | None:
    """``<f^2>^(-1/2)`` at K = 1; None where the average is infinite or 0."""
    try:
        average = float(expect(function() ** 2).evalf(17, K=1))
    except SymresError:
        return None
    return 1 / math.sqrt(average) if 0 < average < math.inf else None
