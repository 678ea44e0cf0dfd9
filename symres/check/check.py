"""``check``: compare derived quantities with independent oracles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from ..errors import DeclarationError
from ..scalars import number
from . import against_quadrature, against_simulation
from .progress import Bar, Progress
from .simulate import Budget
from .verdict import CheckReport, Verdict

_ORACLES = ("quadrature", "simulation")
_QUADRATURE_SHARE = 0.3  # of the time, where both oracles are asked


def check(
    theory: Any,
    against: Sequence[str] | str = _ORACLES,
    seed: int = 0,
    *,
    points: int = 4,
    depth: int = 3,
    budget: Budget | None = None,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Compare what was derived with oracles that share nothing with the derivation but the declaration.

    Args:
        theory: a derived theory (its ``layer`` and ``quantities`` are used), or a single average, the result of
            ``expect`` or ``expect2``.
        against: "quadrature" (the forward equation at infinite width, by integration) and "simulation" (networks of
            several finite widths, one layer and ``depth`` layers); a single average knows only quadrature.
        seed: of all random numbers, the points included.
        points: number of points for each quantity under quadrature, at kernels of the size that the activations ask
            for; a point where an error of 1 % could not be seen is moved.
        depth: number of layers of the deep networks that are simulated (fewer where fluctuations explode).
        budget: how much to simulate.
        parameters: numbers for parameters, by name; the others are drawn at random.
        progress: is called with what is being done and the share that is done; by default a bar on a terminal.

    Returns:
        The verdicts.

    Raises:
        DeclarationError: an unknown oracle, or a parameter that is no number.
    """
    names = (against,) if isinstance(against, str) else tuple(against)
    for name in names:
        if name not in _ORACLES:
            raise DeclarationError(f"check against {name}", "there is no such oracle", f"use {' or '.join(_ORACLES)}")
    given = {name: number(value, name) for name, value in (parameters or {}).items()}
    rows: list[Verdict] = []
    with Bar("check") if progress is None else nullcontext(progress) as report:
        if not hasattr(theory, "layer"):
            return CheckReport(tuple(against_quadrature.average_rows(theory, seed, points, given, report)))
        share = _QUADRATURE_SHARE if set(names) == set(_ORACLES) else 1.0
        if "quadrature" in names:
            rows += against_quadrature.theory_rows(
                theory, seed, points, given, lambda what, done: report(what, share * done)
            )
        if "simulation" in names:
            rows += against_simulation.theory_rows(
                theory,
                seed,
                depth,
                budget or Budget(),
                given,
                lambda what, done: report(what, done if share == 1.0 else share + (1 - share) * done),
            )
    return CheckReport(tuple(rows))
