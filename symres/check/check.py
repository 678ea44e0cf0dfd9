"""``check``: compare derived quantities with independent oracles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.errors import DeclarationError
from ..core.progress import Progress, reported, within
from ..core.scalars import Number, whole
from ..core.work_budget import Stage, limited
from ..results.quantity import Quantity
from ..results.subjects import DerivedLayer
from ..results.verdict import CheckReport, Outcome, Verdict, inconclusive
from .arguments import ORACLES, Subject, chosen, fixed_numbers, oracles, subject_of
from .rows import quadrature_rows, simulation_rows
from .rows.claims import is_claim
from .simulation.width_extrapolation import Budget

_QUADRATURE_SHARE = 0.3  # of the time, where both oracles are asked


def check(
    theory: Subject,
    against: Sequence[str] | str = ORACLES,
    seed: Number = 0,
    *,
    points: Number = 4,
    depth: Number = 3,
    budget: Budget | None = None,
    parameters: Mapping[str, Number] | None = None,
    quantities: Iterable[str] | None = None,
    progress: bool | Progress = True,
) -> CheckReport:
    """Compare derived quantities with oracles that share nothing with the derivation but the declaration.

    Args:
        theory: a derived theory (its ``layer`` and ``all_quantities`` are used); what ``derive`` takes, a layer, an
            activation or text, means its theory; or a single average, the result of ``expect`` or ``expect2``.
        against: "quadrature" (the forward equation at infinite width, by integration) and "simulation" (networks of
            several finite widths, one layer and ``depth`` layers); a single average knows only quadrature.
        seed: of all random numbers, the points included.
        points: number of points for each quantity under quadrature, at kernels of the size that the activations ask
            for; a point where an error of 1 % could not be seen is moved. From 4 on, kernels far beyond and pairs of
            opposite, uncorrelated, nearly equal and equal inputs are added.
        depth: number of layers of the deep networks that are simulated (fewer where fluctuations explode).
        budget: how much to simulate.
        parameters: numbers for parameters, by name; the others are drawn at random.
        quantities: names of the theory's quantities that are compared; by default all, of what fluctuates those that
            networks of affordable widths show.
        progress: whether a bar is shown on a terminal, or a function of the comparison and the share that is done.

    Returns:
        The verdicts.

    Raises:
        DeclarationError: what is passed is no theory or average, no oracle, no parameter, or no number.

    Examples:
        >>> report = sr.check("abs(z)^3", against="quadrature", points=1, quantities=["kernel_map"], progress=False)
        >>> print(report.outcome)
        PASSED
    """
    subject = subject_of(theory)
    names = oracles(against, isinstance(subject, DerivedLayer))
    seed, points, depth = whole(seed, "seed", 0), whole(points, "points", 1), whole(depth, "depth", 1)
    if budget is not None and not isinstance(budget, Budget):
        raise DeclarationError(f"budget {budget!r}", "it is not a Budget", "pass symres.check.Budget(...)")
    if isinstance(subject, Quantity):
        fixed = fixed_numbers(parameters, subject, {})
        with reported(progress, "check") as report:
            return CheckReport(tuple(quadrature_rows.average_rows(subject, seed, points, fixed, report)))
    asked, derived = chosen(quantities, subject), subject.all_quantities
    claims = {name: derived[name] for name in asked if name in derived and is_claim(derived[name])}
    fixed = fixed_numbers(parameters, subject, claims)
    # of the work, before the simulation begins
    share = 1.0 if "simulation" not in names else _QUADRATURE_SHARE if "quadrature" in names else 0.0
    rows: list[Verdict] = []
    with reported(progress, "check") as report:
        if "quadrature" in names:
            part = within(report, 0.0, share)
            with limited(Stage.CHECK, ends=False):
                rows += quadrature_rows.theory_rows(subject, claims, seed, points, fixed, part, "simulation" in names)
        if "simulation" in names:
            part, most = within(report, share, 1.0), budget or Budget()
            rows += simulation_rows.theory_rows(subject, claims, asked, seed, depth, most, fixed, part)
    if quantities is not None:
        compared = {row.quantity for row in rows}
        for name in (name for name in asked if name not in compared):
            reason = "this oracle compares it only together with kernel_map, or not at all"
            if name not in claims:
                reason = "the derivation left it unknown"
            rows += [inconclusive(name, oracle, "", (reason,), seed=seed) for oracle in names]
    else:  # nobody asked for what networks of affordable widths do not show
        deep = subject.depth_observables
        rows = [row for row in rows if not (row.quantity in deep and row.outcome is Outcome.INCONCLUSIVE)]
    return CheckReport(tuple(rows))
