"""Settings of the whole suite: threads, the golden flag, and which cases of a long table are in the fast lane."""

import gc
import os
import sys
from collections import defaultdict

import pytest

# two workers share two cores: threads of their own inside of matrix products would only wait for each other
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A search for garbage walks through all that libraries and tests made while they were imported, millions of objects:
# it was a sixth of the suite's time. There is no garbage while tests are collected, and little afterwards.
gc.disable()

os.environ["SYMRES_NO_CACHE"] = "1"  # no test sees what an earlier run has kept; those of the cache have folders


def pytest_runtest_setup():
    """Numba sets the threads of the runtime that is PyTorch's too; small operations would wait for a second one."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def pytest_addoption(parser):
    """The one flag of the suite."""
    parser.addoption("--renew-golden", action="store_true", help="write the golden files anew")


@pytest.hookimpl(tryfirst=True)  # before cases are selected by their marks
def pytest_collection_modifyitems(items):
    """Of a test marked ``sample(k)`` k cases, spread over its table, are in the fast lane; the others are exhaustive.

    With ``sample(k, every="name")`` that many for each value of one of its parameters: every row of a table is in the
    fast lane, but not with everything that it is combined with.
    """
    tables = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            tables[item.nodeid.partition("[")[0]].append(item)
    for cases in tables.values():
        marker = cases[0].get_closest_marker("sample")
        kept = _spread(cases, *marker.args, **marker.kwargs)
        for case in cases:
            if case not in kept:
                case.add_marker("exhaustive")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """From now on garbage is looked for again, but not among what the imports have made."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def _spread(cases, count, every=None):
    """Some cases of a table, the same in every run."""
    if every is None:
        return {cases[len(cases) * k // count] for k in range(count)}
    rows = defaultdict(list)
    for case in cases:
        rows[repr(case.callspec.params[every])].append(case)  # indices are those of cases, not of values
    return {
        row[(number + len(row) * k // count) % len(row)]
        for number, row in enumerate(rows.values())
        for k in range(count)
    }
