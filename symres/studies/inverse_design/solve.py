"""Inverse design: parameters of a layer for which quantities of its theory have wanted values."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.errors import DeclarationError
from ...core.progress import Progress
from ...core.scalars import Number
from ...results.solutions import Solution, SolutionCurve, SolutionSet
from ...theory.theory import Theory
from .boxes import spread
from .mirror_images import with_mirror_images
from .problem import Problem, Unknown
from .search_of_one import search_of_one
from .search_of_several import search_of_several

_POINTS = 9  # values of the first unknown at which points of a curve are looked for


def solve(
    theory: Theory,
    target: Mapping[str, Number],
    unknown: Unknown,
    progress: Progress = lambda what, share: None,
    **fixed: Number,
) -> SolutionSet:
    """Values of parameters with which a theory meets targets.

    Args:
        theory: of a layer.
        target: by name. ``K``, ``chi_perp``, ``chi_parallel`` and ``correlation_length`` are those at the fixed point
            where C_W and C_b have values or are unknown, else K is that of the critical point; with ``K`` among the
            fixed values every observable is taken at that kernel; ``nu``, ``aspect_ratio``, ``exponents.jacobian``,
            ``exponents.kernel`` and ``exponents.amplitude`` at criticality; ``correlation(c, depth)`` is what so many
            layers make of a correlation c.
        unknown: names of parameters, or for each the box (low, high) in which it is looked for; by default all sizes
            from 1e-4 to 1e4, of gamma what is below 1. With one unknown more than targets the answer is a curve.
        progress: is told what is being done, and the share that is done.
        fixed: numbers for the other parameters, by name, and for K and n_L.

    Returns:
        SolutionSet: every solution that was met in the box, each with its certificate: an interval at whose ends the
        quantity lies on either side of the target, or by how much targets are missed. Without one ``reason`` says
        between which values the quantity stays.

    Raises:
        DeclarationError: a name that is not a target or a parameter; fewer unknowns than targets, or too many.

    Examples:
        The variance of weights with which ReLU networks lose a factor 4 of their gradients in each layer:

        >>> answer = sr.solve(sr.derive("relu"), {"chi_perp": "1/4"}, unknown=("C_W",), C_b="1/10")
        >>> answer.solutions[0].values
        {'C_W': 0.5}
    """
    problem = Problem.of(theory, target, unknown, fixed)
    free = len(problem.boxes) - len(problem.wanted)
    if free == 1 and problem.wanted:
        return _curve(problem, progress)
    if free or not problem.wanted:
        numbers = f"{len(problem.wanted)} targets for {len(problem.boxes)} unknown parameters"
        raise DeclarationError("what is to be solved", numbers, "name as many parameters as targets, or one more")
    asked = {
        name: box if isinstance(unknown, Mapping) and unknown[name] else None for name, box in problem.boxes.items()
    }
    return with_mirror_images(_solved(problem, progress), theory.layer, asked)


def _solved(problem: Problem, progress: Progress) -> SolutionSet:
    return search_of_one(problem, progress) if len(problem.boxes) == 1 else search_of_several(problem, progress)


def _curve(problem: Problem, progress: Progress) -> SolutionSet:
    """Points at some values of the first unknown."""
    first = next(iter(problem.boxes))
    points = []
    for position, place in enumerate(spread(problem.boxes[first], _POINTS)):
        progress("points of the curve", position / _POINTS)
        answer = _solved(problem.with_fixed(first, place), lambda what, share: None)
        points += [Solution({first: place, **point.values}, point.certificate) for point in answer.solutions]
    if not points:
        return SolutionSet((), f"at none of {_POINTS} values of {first}: {answer.reason}")
    equations = ", ".join(problem.equation(name) for name in problem.wanted)
    reason = f"looked for at {_POINTS} values of {first}, in {problem.looked()}"
    return SolutionSet((), reason, SolutionCurve(equations, tuple(points)))
