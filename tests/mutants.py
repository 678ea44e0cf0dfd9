"""Mutants: which small errors in symres do the two lanes of the suite catch?

    python -m pytest -m "" --cov=symres --cov-branch --cov-context=test --cov-report=   # which test executes which line
    python -m tests.mutants --sample 40 --seed 0

A mutant changes one operator, number or condition in a copy of the repository. It meets the tests that execute its
line and no others: those of the fast lane first, the nearest before the rest; the exhaustive ones only if it survives.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
WORKERS = 2  # mutants at a time
AT_ONCE = 50  # tests that a mutant meets together, the nearest first
HANGS = 400  # seconds of so many tests: a mutant that takes longer makes one of them hang, which is caught
SECONDS = 500  # for a mutant in a lane, then no further tests are begun

COMPARISONS = {
    ast.Lt: (b"<", b"<="),
    ast.LtE: (b"<=", b"<"),
    ast.Gt: (b">", b">="),
    ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
}
OPERATORS = {
    ast.Add: (b"+", b"-"),
    ast.Sub: (b"-", b"+"),
    ast.Mult: (b"*", b"/"),
    ast.Div: (b"/", b"*"),
    ast.Pow: (b"**", b"*"),
}
CONNECTIVES = {ast.And: (b"and", b"or"), ast.Or: (b"or", b"and")}


@dataclass(frozen=True)
class Mutant:
    """One change: bytes ``start`` to ``end`` of a module, on a line, become ``new``."""

    path: Path
    line: int
    start: int
    end: int
    new: bytes

    def __str__(self) -> str:
        old = (ROOT / self.path).read_bytes()[self.start : self.end]
        return f"{self.path}:{self.line}: {old.decode()} -> {self.new.decode()}"

    def apply(self, root: Path) -> None:
        """Change the module below another root."""
        text = (ROOT / self.path).read_bytes()
        (root / self.path).write_bytes(text[: self.start] + self.new + text[self.end :])


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a module, a path from the root."""
    text = (ROOT / path).read_bytes()
    starts = [0]
    for row in text.split(b"\n"):
        starts.append(starts[-1] + len(row) + 1)

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.expr, right: ast.expr, old: bytes, new: bytes) -> Iterator[Mutant]:
        place = text.find(old, span(left)[1], span(right)[0])
        if place >= 0:
            yield Mutant(path, left.lineno, place, place + len(old), new)

    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
                yield from between(left, right, *COMPARISONS[type(operator)])
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                yield from between(left, right, *OPERATORS[type(operator)])
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                yield from between(left, right, *CONNECTIVES[type(operator)])
            case ast.Constant(value=bool() | int() as value):
                new = str(not value) if isinstance(value, bool) else str(value + 1)
                yield Mutant(path, node.lineno, *span(node), new.encode())
            case ast.If(test=test) | ast.IfExp(test=test):
                start, end = span(test)
                yield Mutant(path, test.lineno, start, end, b"not (" + text[start:end] + b")")


class Executed:
    """Which tests execute which line, by coverage's contexts."""

    def __init__(self, path: Path) -> None:
        self._data = CoverageData(str(path))
        self._data.read()

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that execute the line of a mutant."""
        contexts = self._data.contexts_by_lineno(str(ROOT / mutant.path)).get(mutant.line, [])
        return sorted({context.partition("|")[0] for context in contexts if "::" in context})


def collected(lane: str) -> frozenset[str]:
    """The tests of a lane, ``-m`` of pytest."""
    words = [sys.executable, "-m", "pytest", "--collect-only", "-o", "addopts=-q --import-mode=importlib", "-m", lane]
    shown = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return frozenset(row for row in shown.splitlines() if "::" in row)


def nearness(test: str, mutant: Mutant) -> int:
    """How many folders and words of its module the name of a test shares: unit tests mirror the tree."""
    return -sum(part in test for part in mutant.path.with_suffix("").parts[1:])


def caught(root: Path, tests: Sequence[str]) -> list[str] | None:
    """The first of a few tests that fails in a copy of the repository, all of them if one hangs, None if they pass."""
    (root / "selected.txt").write_text("\n".join(tests))
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-m", "", "@selected.txt"]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(root)}
    failed = root / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed.unlink(missing_ok=True)
    try:
        result = subprocess.run(words, cwd=root, capture_output=True, timeout=HANGS, env=environment)
    except subprocess.TimeoutExpired:
        return list(tests)
    if result.returncode == 0:
        return None
    # one that cannot be collected any more notices the mutant, too: then the module is listed
    return [name for name in json.loads(failed.read_text()) if "::" in name] if failed.exists() else list(tests)


def sampled(executed: Executed, count: int, seed: int) -> list[Mutant]:
    """Mutants of executed lines, the same number in every room."""
    rng = random.Random(seed)
    rooms: dict[str, list[Mutant]] = defaultdict(list)
    for module in sorted((ROOT / "symres").rglob("*.py")):
        path = module.relative_to(ROOT)
        if len(path.parts) > 2:
            rooms[path.parts[1]] += mutants_of(path)
    for found in rooms.values():
        rng.shuffle(found)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(rooms.values()):
        for found in rooms.values():
            while found and len(chosen) < count:
                mutant = found.pop()
                if executed.tests(mutant):
                    chosen.append(mutant)
                    break
    return chosen


def copied(folder: str) -> Path:
    """A copy of the repository."""
    root = Path(folder) / "symres"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".git", "__pycache__", ".coverage*", ".*_cache"))
    return root


def fate(mutant: Mutant, tests: Sequence[str], fast: frozenset[str]) -> str:
    """By what a mutant is caught: "fast", "exhaustive" or "nothing", "open" if time was up before all tests had run.

    A test catches a mutant if it fails with it and passes without it.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = copied(folder)
        original = (root / mutant.path).read_bytes()
        found = "nothing"
        lanes = {"fast": [t for t in tests if t in fast], "exhaustive": [t for t in tests if t not in fast]}
        for lane, listed in lanes.items():
            end = time.monotonic() + SECONDS
            listed.sort(key=lambda test: nearness(test, mutant))
            while listed:
                if time.monotonic() > end:
                    found = "open"
                    break
                some = listed[:AT_ONCE]
                mutant.apply(root)
                failed = caught(root, some)
                (root / mutant.path).write_bytes(original)
                if failed is None:
                    del listed[:AT_ONCE]
                    continue
                failed = failed or some
                if caught(root, failed) is None:
                    return lane
                listed[:] = [test for test in listed if test not in failed]
    return found


def main() -> None:
    """Print a row for each mutant, and what each lane caught."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=ROOT / ".coverage", help="coverage with contexts, of both lanes")
    asked = parser.parse_args()
    executed, fast = Executed(asked.data), collected("not exhaustive")
    known = collected("")
    mutants = sampled(executed, asked.sample, asked.seed)
    tests = [[test for test in executed.tests(mutant) if test in known] for mutant in mutants]
    fates: Counter[str] = Counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        for mutant, listed, by in zip(mutants, tests, pool.map(fate, mutants, tests, repeat(fast)), strict=True):
            fates[by] += 1
            print(f"{by:10}  {mutant}  ({sum(t in fast for t in listed)} of {len(listed)} tests are fast)", flush=True)
    both = fates["fast"] + fates["exhaustive"]
    print(f"the fast lane catches {fates['fast']} of {both} that the whole suite catches;", end=" ")
    print(f"{fates['nothing']} survive, {fates['open']} survived until time was up")


if __name__ == "__main__":
    main()
