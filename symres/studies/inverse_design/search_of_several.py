"""Solutions for several unknowns: ends of searches from many starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import mpmath as mp
import numpy as np
from scipy.optimize import least_squares
from scipy.stats import qmc

from ...core.progress import Progress
from ...results.solutions import Solution, SolutionSet
from .boxes import place_in
from .newton import newton
from .problem import APART, MET, Problem, near
from .targets import FEW_DIGITS

_STARTS = 24  # of searches: the best of samples
_FEW, _MANY = 64, 1024  # samples of the box, by the time that one of them takes
_SECONDS = 10.0  # that they may take together
_ROUGHLY, _STEPS = 1e-5, 40  # how near a search in double precision must come, within how many steps
_CHANGE = 1e-5  # relative, between which slopes are taken: values have 9 digits
_ROUGH = 1e-3  # relative: ends of searches that are nearer are one
_DIGITS = 30  # of the last steps


def search_of_several(problem: Problem, progress: Progress) -> SolutionSet:
    """Solutions of as many equations as unknowns, by Newton's method from many starts, on the first branch."""
    names, boxes, branch = list(problem.wanted), list(problem.boxes.values()), problem.branches()[0]

    def rough(coordinates: np.ndarray) -> list[float]:
        return at([place_in(box, c) for c, box in zip(coordinates, boxes, strict=True)])

    def at(places: Sequence[float]) -> list[float]:
        return [float(problem.excess(name, places, FEW_DIGITS, branch)) / problem.size(name) for name in names]

    solutions: list[Solution] = []
    for position, start in enumerate(starts := _starts(rough, len(boxes), progress)):
        progress("searches", position / len(starts))
        try:
            end = least_squares(rough, start, bounds=(0, 1), xtol=1e-8, max_nfev=_STEPS, diff_step=_CHANGE)
        except (ValueError, np.linalg.LinAlgError):  # a quantity that does not exist beside a place on the way
            continue
        places = [place_in(box, c) for c, box in zip(end.x, boxes, strict=True)]
        for mirrored in filter(problem.admits, _mirrored(places)):
            if not max(map(abs, at(mirrored))) < _ROUGHLY or _is_one(problem.solution(mirrored, ""), solutions, _ROUGH):
                continue
            solution = _polished(problem, mirrored, branch)
            if solution is not None and not _is_one(solution, solutions):
                solutions.append(solution)
    looked = f"{len(starts)} searches with {problem.looked()}"
    if not starts:
        return SolutionSet((), f"nowhere with {problem.looked()} all targets have values")
    if not solutions:
        return SolutionSet((), f"none of {looked} ends in one")
    solutions.sort(key=lambda solution: tuple(solution.values.values()))
    return SolutionSet(tuple(solutions), f"ends of {looked}, and their mirror images")


def _starts(function: Callable[[np.ndarray], list[float]], count: int, progress: Progress) -> list[np.ndarray]:
    """The coordinates where targets are missed least, of many over the box."""
    draws = qmc.Sobol(count, seed=0).random(_MANY)
    function(draws[0])  # the first value derives what the others need
    began = time.monotonic()
    sizes = [np.linalg.norm(function(draw)) for draw in draws[1 : _FEW // 8]]
    samples = min(max(int(_SECONDS * len(sizes) / (time.monotonic() - began + 1e-6)), _FEW), _MANY)
    sizes = []
    for position, draw in enumerate(draws[:samples]):
        progress("samples", position / samples)
        sizes.append(np.linalg.norm(function(draw)))
    return [draws[k] for k in np.argsort(sizes)[:_STARTS] if np.isfinite(sizes[k])]


def _mirrored(places: Sequence[float]) -> Iterator[list[float]]:
    """Places with all signs: solutions often have mirror images."""
    for signs in product((1, -1), repeat=len(places)):
        yield [sign * place for sign, place in zip(signs, places, strict=True)]


def _is_one(solution: Solution, others: Sequence[Solution], apart: float = APART) -> bool:
    return any(near(solution, other, apart) for other in others)


def _polished(problem: Problem, start: Sequence[float], branch: int) -> Solution | None:
    """The solution beside the end of a search; None where the search stopped at something else."""

    def excesses(places: Sequence[mp.mpf]) -> list[mp.mpf]:
        return [problem.excess(name, places, _DIGITS, branch) for name in problem.wanted]

    zero = newton(excesses, start, _DIGITS)
    if zero is None:
        return None
    places = list(map(float, zero))
    residue = max(abs(e) / problem.size(n) for n, e in zip(problem.wanted, excesses(places), strict=True))
    if not problem.admits(places) or not residue <= MET:
        return None
    return problem.solution(places, f"misses the targets by {float(residue):.0e}, by Newton's method")
