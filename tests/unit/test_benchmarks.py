"""The comparison of two checkouts: what it names can be run, and what it prints is what was measured."""

import numpy as np
import pytest

from tests.bench import against, worker
from tests.bench.against import COMMAND, COMPARISONS, Comparison, line
from tests.command_line import ROOT


def test_every_comparison_is_a_way_of_the_worker_or_a_command():
    for comparison in COMPARISONS.values():
        for way in filter(None, (comparison.way, comparison.unit)):
            assert way.startswith(COMMAND) or way in worker.WAYS, way
    assert {c.threads for name, c in COMPARISONS.items() if name.startswith("neural-tangents")} == {0}


def test_ratios_are_those_of_single_rounds():
    figures = np.array([[1.0, 2.0], [2.0, 3.0], [4.0, 4.0]])
    cells = "| 2 s | 3 s | 1.500 | 1.000 | 2.000 |"
    assert line(Comparison("a map", "map c gelu"), figures) == f"| a map {cells}"
    assert line(Comparison("a map", "map c gelu", "map c relu"), figures) == f"| a map {cells.replace(' s', '')}"


def test_a_round_is_as_long_as_it_has_to_be_and_both_checkouts_take_turns(monkeypatch, tmp_path):
    calls = []

    class Counted:
        lacks = ""

        def __init__(self, way, threads, size, peers, checkout):
            self.way, self.checkout = way, checkout

        def wait(self):
            return True

        def run(self):
            calls.append((self.way, self.checkout))
            return (0.1 if self.checkout == tmp_path else 0.2) * (2 if self.way == "unit" else 1), 0.0

        def end(self):
            calls.append("ended")

    monkeypatch.setattr(against, "WorkerProcess", Counted)
    figures = against.measured(Comparison("", "way"), (tmp_path, ROOT), 10, 2, None)
    assert figures == pytest.approx(np.array([[0.1, 0.2], [0.1, 0.2]]))
    old, new = ("way", tmp_path), ("way", ROOT)
    assert calls == [old, new, *[old, new, new, old], *[new, old, old, new], "ended", "ended"]
    figures = against.measured(Comparison("", "way", "unit"), (tmp_path, ROOT), 10, 1, None)
    assert figures == pytest.approx(np.array([[0.5, 0.5]]))


def test_a_way_that_lacks_something_is_left_out(monkeypatch):
    class Lacking:
        def __init__(self, *_):
            self.lacks = "No module named 'neural_tangents'"

        def wait(self):
            return False

        def end(self):
            pass

    monkeypatch.setattr(against, "WorkerProcess", Lacking)
    with pytest.raises(against.Unavailable, match="neural_tangents"):
        against.measured(COMPARISONS["neural-tangents-gelu"], (ROOT, ROOT), 10, 1, None)
