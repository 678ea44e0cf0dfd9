"""This checkout beside a commit, in one run: ``python -m tests.bench --against COMMIT [NAMES]``.

The commit is checked out into a temporary worktree of git, which is removed in the end; the other side is the checkout
of this file as it is, with changes that are not committed. The same worker, that of this checkout, runs with either
symres, and rounds are interleaved; which of both is first alternates. What counts is processor time. A figure is the
time of a benchmark, or its ratio to that of something else in the same round; the ratio of both checkouts is the median
of the ratios of the rounds, with the least and the largest of them. What takes less than a fraction of a second is run
several times in a round.

Commands run with nothing kept from run to run. Kernels and networks have one thread, but networks beside those of
neural-tangents, which have as many as the environment gives them.
"""

import math
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
SHORTEST = 0.5  # seconds of a round
COMMAND = "symres "  # what the way of a command begins with
EXPORT = "symres export tanh --quantity covariance_map --target"


@dataclass(frozen=True)
class Comparison:
    """What is measured in both checkouts.

    Args:
        title: of its line.
        way: of the worker, or a command that begins with "symres".
        unit: the same, of what the time is divided by; empty for nothing.
        threads: of the worker; 0 for as many as the environment gives.
    """

    title: str
    way: str
    unit: str = ""
    threads: int = 1


def _comparisons() -> dict[str, Comparison]:
    found = {}
    for a in ("relu", "gelu", "erf"):
        for target in ("c", "numba"):
            found[f"closed-{target}-{a}"] = Comparison(f"covariance map of {a}, {target}", f"map {target} {a}")
        title, unit = f"five layers of {a}, Numba over C", f"network c {a}"
        found[f"networks-{a}"] = Comparison(title, f"network numba {a}", unit)
        title, unit = f"five layers of {a}, NumPy over neural-tangents", f"neural-tangents {a}"
        found[f"neural-tangents-{a}"] = Comparison(title, f"network numpy {a}", unit, threads=0)
    found["elementwise-gelu"] = Comparison("covariance map of gelu, NumPy, entry by entry", "entries numpy gelu")
    for target in ("c", "numba", "numpy"):
        for a in ("tanh", "silu"):
            title, unit = f"covariance map of {a} over that of gelu, {target}", f"map {target} gelu"
            found[f"series-{target}-{a}"] = Comparison(title, f"map {target} {a}", unit)
    commands = {
        "derive-gelu": "derive gelu",
        "derive-silu": "derive silu",
        "derive-quick-gelu": "derive 'z*sigmoid(1.702*z)'",
        "derive-gelu-pre-ln": "derive gelu --layer pre_ln",
        "derive-relu-residual": "derive relu --layer residual",
        "list-criticality": "list criticality",
        "list-averages": "list averages",
    }
    found |= {name: Comparison(f"symres {command}", COMMAND + command) for name, command in commands.items()}
    for target in ("numpy", "torch", "jax", "c", "numba"):
        title = f"export of the covariance map of tanh, {target}, over derive tanh"
        found[f"export-{target}"] = Comparison(title, f"{EXPORT} {target}", COMMAND + "derive tanh")
    return found


COMPARISONS = _comparisons()


class Unavailable(Exception):
    """A benchmark that cannot be run here, or not with that commit."""


def compare(commit: str, names: list[str], size: int, rounds: int, peers: Path | None) -> None:
    """Print a table.

    Args:
        commit: what git calls it.
        names: of comparisons; all if there are none.
        size: rows and columns of matrices.
        rounds: how often each is run in each checkout.
        peers: the environment that ``--make-peers`` made.
    """
    print(f"| benchmark | {commit} | this checkout | ratio | least | largest |\n|{'---|' * 6}", flush=True)
    with worktree(commit) as other:
        for name in names or COMPARISONS:
            comparison = COMPARISONS[name]
            try:
                figures = measured(comparison, (other, ROOT), size, rounds, peers)
            except Unavailable as error:
                print(f"left out: {name}: {error}", file=sys.stderr, flush=True)
                continue
            print(line(comparison, figures), flush=True)


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """A temporary checkout of a commit."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkout"
        done = subprocess.run([*git, "add", "--detach", str(path), commit], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"no worktree of {commit}: {done.stderr.strip()}")
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True, capture_output=True)


def measured(
    comparison: Comparison, checkouts: tuple[Path, Path], size: int, rounds: int, peers: Path | None
) -> np.ndarray:
    """Seconds of processor time, or ratios, of shape (rounds, 2): those of each checkout."""
    ways = [comparison.way, *filter(None, [comparison.unit])]
    with ExitStack() as stack:
        both = [
            [_timed(way, comparison.threads, checkout, size, peers, stack) for way in ways] for checkout in checkouts
        ]
        once = sum(time() for times in both for time in times)  # compiles the bytecode of commands, too
        repeats = math.ceil(SHORTEST / once) if once > 0 else 1
        figures = np.zeros((rounds, 2))
        for number in range(rounds):
            seconds = np.zeros((2, len(ways)))
            for repeat in range(repeats):
                for side in (0, 1) if (number + repeat) % 2 == 0 else (1, 0):
                    seconds[side] += [time() for time in both[side]]
            figures[number] = seconds[:, 0] / (seconds[:, 1] if comparison.unit else repeats)
    return figures


def _timed(
    way: str, threads: int, checkout: Path, size: int, peers: Path | None, stack: ExitStack
) -> Callable[[], float]:
    """A function that runs a way once and returns the seconds of processor time."""
    if way.startswith(COMMAND):
        # bytecode is kept, as that of an installation is
        command, bytecode = way.removeprefix(COMMAND), checkout / ".bytecode"  # is removed with the worktree
        if checkout == ROOT:
            bytecode = Path(tempfile.gettempdir()) / "symres_bytecode"

        def once() -> float:
            try:
                return processor_time(checkout, command, bytecode)
            except subprocess.CalledProcessError as error:
                raise Unavailable(f"{way} fails in {checkout}: {error.stderr.decode().strip()[-200:]}") from None

        return once
    worker = WorkerProcess(way, threads, size, peers, checkout)
    stack.callback(worker.end)
    if not worker.wait():
        raise Unavailable(f"{way}: {worker.lacks}")
    return lambda: worker.run()[0]


def processor_time(checkout: Path, command: str, bytecode: Path) -> float:
    """Seconds of a command of a checkout and of its workers, with nothing kept from an earlier run.

    Raises:
        CalledProcessError: it fails.
    """
    paths = {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(bytecode), "SYMRES_NO_CACHE": "1"}
    environment = {**os.environ, **paths}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, "-m", "symres", *shlex.split(command)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, cwd=checkout, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def line(comparison: Comparison, figures: np.ndarray) -> str:
    """A line of the table: the medians of both checkouts, and what this one takes beside the other."""
    unit = "" if comparison.unit else " s"
    both = [f"{value:.3g}{unit}" for value in np.median(figures, axis=0)]
    ratios = figures[:, 1] / figures[:, 0]
    cells = [comparison.title, *both, *(f"{value:.3f}" for value in (np.median(ratios), ratios.min(), ratios.max()))]
    return f"| {' | '.join(cells)} |"


WORKER = str(Path(__file__).with_name("worker.py"))
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerProcess:
    """A process that computes in one way.

    Args:
        way: of the worker.
        threads: how many it has; 0 for what the environment and the libraries choose.
        size: rows and columns of the matrices.
        peers: the environment of peers that need one of their own.
        checkout: the one whose symres is measured; that of this file if None.
    """

    def __init__(self, way: str, threads: int, size: int, peers: Path | None, checkout: Path | None = None) -> None:
        own = peers is not None and way.startswith("neural-tangents")
        python = str(peers / "bin" / "python") if own and peers is not None else sys.executable
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        if threads:
            eigen = "true" if threads > 1 else "false"
            flags = f"--xla_cpu_multi_thread_eigen={eigen} intra_op_parallelism_threads={threads}"
            environment |= {**dict.fromkeys(THREADS, str(threads)), "XLA_FLAGS": flags}
        path = os.environ.get("PYTHONPATH", "") if checkout is None else str(checkout)
        environment["PYTHONPATH"] = "" if own else path
        environment["PYTHONSAFEPATH"] = "1"  # the folder of the worker has a module called as a peer's package may be
        self._process = subprocess.Popen(
            [python, WORKER, way, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=checkout,
        )
        self.lacks = ""

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def wait(self) -> bool:
        """Whether it is ready; what it lacks is the last line of its complaint."""
        if self._line().strip() == "ready":
            return True
        complaint = self._process.communicate()[1].strip().splitlines() or ["it ended without a word"]
        self.lacks = complaint[-1][:100]
        return False

    def run(self) -> tuple[float, float]:
        """Seconds of processor time and on the wall of one run."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        processor, wall = self._line().split()
        return float(processor), float(wall)

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.communicate()
