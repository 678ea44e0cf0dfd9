"""Parameters whose sign only mirrors an activation: theories do not see it, and solutions come in pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import mpmath as mp
import sympy as sp

from ...activations import catalogue
from ...activations.atom import Formula
from ...core.symbols import z
from ...layers.layer import Layer
from ...results.solutions import Solution, SolutionSet
from .problem import near

_PLACES = tuple(map(sp.Rational, ("1/3", "7/5", "-11/4", "17/3")))  # of the input and of the parameter
_DIGITS = 30


def with_mirror_images(answer: SolutionSet, layer: Layer, boxes: dict[str, tuple[float, float] | None]) -> SolutionSet:
    """The solutions, and those where a parameter that the catalogue calls positive has the other sign.

    Args:
        answer: with positive parameters.
        layer: whose activations they are parameters of.
        boxes: which the user has asked for, by the name of the unknown; mirror images lie in them.
    """
    solutions = list(answer.solutions)
    for name, box in boxes.items():
        if not _only_mirrors(layer, name):
            continue
        for solution in answer.solutions:
            value = -solution.values[name]
            image = Solution({**solution.values, name: value}, f"mirror image of {name} = {-value:.15g}")
            if box is None or (box[0] <= value <= box[1] and not any(near(image, other) for other in solutions)):
                solutions.append(image)
    solutions.sort(key=lambda solution: tuple(solution.values.values()))
    return replace(answer, solutions=tuple(solutions))


def _only_mirrors(layer: Layer, name: str) -> bool:
    formulas = [formula for formula in layer.formulas if name in {p.name for p in formula.parameters}]
    return bool(formulas) and all(map(_is_mirrored, formulas, [name] * len(formulas)))


def _is_mirrored(formula: Formula, name: str) -> bool:
    """Whether the sign of a parameter of a catalogued activation turns its graph around, ``f(z; -p) = +-f(+-z; p)``."""
    symbol = next(p for p in formula.parameters if p.name == name)
    if formula.label()[0] not in catalogue.activations or not symbol.is_positive or len(formula.parameters) > 1:
        return False
    function = sp.lambdify((z, symbol), formula.expr, "mpmath")
    with mp.workdps(_DIGITS):
        return any(
            all(mp.almosteq(function(x, -p), s * function(t * x, p)) for x, p in product(_PLACES, _PLACES))
            for s, t in product((1, -1), repeat=2)
        )
