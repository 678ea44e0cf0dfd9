"""Processor time of commands in two checkouts: ``python tests/bench/bench_deriving.py OLD NEW [rounds] [words]``.

Each command runs as a process of its own, alternately in both checkouts, with nothing kept from run to run; of the new
checkout once more with the cache that its last run has filled. Python's bytecode is kept, as that of an installation
is. What counts is the processor time of the whole command
with its workers, the least of the rounds; the ratios are old over new. Texts that differ are reported.

With words, only the commands that contain one of them.
"""

import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

COMMANDS = (
    "derive silu",
    "derive 'z*sigmoid(1.702*z)'",
    "derive gelu --layer pre_ln",
    "derive silu --layer pre_ln",
    "list averages",
    "list criticality",
)
ROUNDS = 3
BYTECODE = Path(tempfile.gettempdir()) / "symres_bytecode"


@dataclass(frozen=True)
class Run:
    """One run of a command.

    Args:
        processor: seconds of it and of its workers.
        wall: seconds that passed.
        text: what it printed.
    """

    processor: float
    wall: float
    text: bytes


def run(checkout: Path, command: str, **environment: str) -> Run:
    """Run a command of a checkout.

    Raises:
        CalledProcessError: it fails.
    """
    own = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "PYTHONPYCACHEPREFIX": str(BYTECODE / checkout.name),
        **environment,
    }
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "symres", *shlex.split(command)], env=own, cwd=checkout, capture_output=True, check=True
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(used, wall, done.stdout)


def compare(old: Path, new: Path, command: str, rounds: int) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {"SYMRES_NO_CACHE": "", "SYMRES_CACHE_DIR": folder}
        first, second, again = [], [], []
        run(new, command, **kept)
        for _ in range(rounds):
            first.append(run(old, command, SYMRES_NO_CACHE="1"))
            second.append(run(new, command, SYMRES_NO_CACHE="1"))
            again.append(run(new, command, **kept))
    before, after, warm = (min(r.processor for r in runs) for runs in (first, second, again))
    walls = [f"{min(r.wall for r in runs):.2f}" for runs in (first, second, again)]
    texts = {r.text for r in (*first, *second, *again)}
    same = "" if len(texts) == 1 else "  THE TEXTS DIFFER"
    row = f"{before:8.2f} {after:8.2f} {before / after:6.2f} {warm:8.2f} {before / warm:6.2f}"
    return f"{command:30} {row}   {' '.join(walls)}{same}"


def main() -> None:
    """Print the table."""
    old, new, *rest = sys.argv[1:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else ROUNDS
    print(f"{'processor seconds':30} {'old':>8} {'new':>8} {'ratio':>6} {'cached':>8} {'ratio':>6}   wall seconds")
    for command in COMMANDS:
        if not rest or any(word in command for word in rest):
            print(compare(Path(old).resolve(), Path(new).resolve(), command, rounds), flush=True)


if __name__ == "__main__":
    main()
