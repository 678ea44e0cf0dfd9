"""Solutions for one unknown: where a quantity passes its target, or touches it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ...core.errors import SymresError
from ...core.progress import Progress
from ...numerics.brent import brent
from ...results.solutions import Solution, SolutionSet
from .boxes import Box, spread
from .crossings import brackets, to_the_edges
from .problem import MET, Problem, near
from .targets import DIGITS, FEW_DIGITS

_FEW, _MANY = 33, 257  # places along the unknown, by the time that one of them takes
_SECONDS = 20.0  # that they may take together
_ENDS = 1e-13  # relative, of the interval around a solution that certifies it

Function = Callable[[float], float]


def search_of_one(problem: Problem, progress: Progress) -> SolutionSet:
    """Solutions of one equation for one unknown, each between two places where signs differ."""
    (name,), (box,) = problem.wanted, problem.boxes.values()
    branches = problem.branches()
    places = _places(_excess(problem, name, FEW_DIGITS, branches[0]), box)
    solutions: list[Solution] = []
    finite: list[float] = []
    for branch in branches:
        function, rough = (_excess(problem, name, digits, branch) for digits in (DIGITS, FEW_DIGITS))
        values = []
        for position, place in enumerate(places):
            progress("values", position / len(places))
            values.append(rough(place))
        refined, values = to_the_edges(rough, places, values)
        for low, high in brackets(rough, refined, values):
            solution = _between(problem, function, low, high)
            if solution is not None and not any(near(solution, other) for other in solutions):
                solutions.append(solution)
        seen = [value for value in values if math.isfinite(value)]
        finite += seen
        if branch > 0 and not seen:  # there are no more critical points
            break
    if solutions:
        solutions.sort(key=lambda solution: tuple(solution.values.values()))
        return SolutionSet(tuple(solutions), f"looked for at {len(places)} values in {problem.looked()}")
    if not finite:
        why = problem.why(name, spread(box, 1), branches[0])
        return SolutionSet((), f"{name} has no value for {problem.looked()}: {why}")
    least, most = (float(problem.wanted[name]) + edge for edge in (min(finite), max(finite)))
    between = f"is {least:.6g}" if least == most else f"stays between {least:.6g} and {most:.6g}"
    return SolutionSet((), f"{name} {between} for {problem.looked()}")


def _excess(problem: Problem, name: str, digits: int, branch: int) -> Function:
    return lambda place: float(problem.excess(name, (place,), digits, branch))


def _places(function: Function, box: Box) -> list[float]:
    """Places in a box, as many as there is time for."""
    function(spread(box, 1)[0])  # the first value derives what the others need
    began = time.monotonic()
    function(spread(box, 2)[0])
    return spread(box, min(max(int(_SECONDS / (time.monotonic() - began + 1e-6)), _FEW), _MANY))


def _between(problem: Problem, function: Function, low: float, high: float) -> Solution | None:
    """The solution between two places of different signs; None where the quantity jumps over its target."""
    (name,) = problem.wanted
    try:
        place = low if low == high else brent(function, low, high, xtol=0.0, rtol=1e-15)
    except SymresError:
        return None
    miss = abs(function(place))
    if not miss <= MET * problem.size(name):
        return None
    below, above = (function(place + side * max(abs(place) * _ENDS, 1e-300)) for side in (-1, 1))
    if below * above < 0:
        return problem.solution([place], f"{name} passes its target within {_ENDS:.0e} of it, relative")
    return problem.solution([place], f"{name} misses its target by {miss:.0e}")
