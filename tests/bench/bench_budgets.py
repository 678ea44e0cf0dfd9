"""The share of each budget that the catalogue spends: ``python tests/bench/bench_budgets.py [words]``.

Every activation of the catalogue is derived in three layers, its page made and checked as ``symres derive`` does, and
the code of its covariance map generated, each case in a process of its own, where no earlier one has left results.
Budgets are a thousand times as large as usual, so that none ends what is measured. Printed are, for each stage, the
operations and the processor time of the most costly case as shares of the budget; a case beyond half of a budget is
marked.

With words, only the activations that they name.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import symres as sr
from symres.activations.catalogue import activations
from symres.core import work_budget
from symres.core.work_budget import Meter, Stage

LAYERS = ("mlp", "residual", "pre_ln")
FACTOR = 1000
LARGEST = 0.5  # of a budget, that the catalogue may spend
Share = tuple[float, float]  # of the operations, of the processor time


def shares(name: str, layer: str) -> dict[Stage, Share]:
    """What each stage spends at the most in one case."""
    meters = []

    class Recorded(Meter):
        """A meter that is looked at when all is done."""

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            meters.append((self, self.operations_left, self.seconds_left))

    work_budget.Meter = Recorded
    with sr.budget(FACTOR):
        theory = sr.derive(getattr(sr, layer)(name))
        theory.page()
        sr.check(theory, "quadrature", points=1)
        sr.export(theory.covariance_map)
    largest: dict[Stage, Share] = {}
    for meter, operations, seconds in meters:
        spent = operations - meter.operations_left, seconds - meter.seconds_left
        before = largest.get(meter.stage, (0.0, 0.0))
        budget = meter.stage.operations, meter.stage.seconds
        largest[meter.stage] = tuple(max(b, s / whole) for b, s, whole in zip(before, spent, budget, strict=True))
    return largest


def measured(names: list[str]) -> Iterator[tuple[str, dict[Stage, Share]]]:
    """Every case and what it spends."""
    cases = [(name, layer) for name in names for layer in LAYERS]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for (name, layer), spent in zip(cases, pool.map(shares, *zip(*cases, strict=True)), strict=True):
            yield f"{name} in {layer}", spent


def main(words: list[str]) -> int:
    """Print the table; the exit code is 1 if a case spends more than half of a budget."""
    most: dict[Stage, dict[str, Share]] = {stage: {} for stage in Stage}
    for case, spent in measured([name for name in activations if not words or name in words]):
        print(case, *(f"{stage.name} {x:.3f} {t:.3f}" for stage, (x, t) in spent.items()), sep="; ", flush=True)
        for stage, share in spent.items():
            most[stage][case] = share
    beyond = 0
    for stage, cases in most.items():
        for unit, kind in enumerate(("operations", "seconds")):
            case = max(cases, key=lambda case: cases[case][unit], default=None)
            share = cases[case][unit] if case else 0.0
            beyond += share > LARGEST
            mark = "  MORE THAN HALF" * (share > LARGEST)
            print(f"{stage.title:32s} {kind:10s} {share:7.3f}  {case or 'not asked for'}{mark}")
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
