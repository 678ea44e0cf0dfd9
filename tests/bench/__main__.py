"""Generated kernels beside their peers, in one run: ``python -m tests.bench``.

Every way of computing runs in a process of its own; rounds are interleaved, so that all meet the same machine. Times
are seconds of processor time and on the wall, medians of the rounds; ratios are medians of the ratios of one round. One
thread everywhere but where two are named. Nothing is asserted: machines differ.

``--against COMMIT`` compares this checkout with another commit instead, benchmark by benchmark: see ``against.py``.

Peers that cannot share an environment get one: ``python -m tests.bench --make-peers FOLDER``, then
``--peers FOLDER``. ``--json FILE`` keeps all times in the format of pyperf, where that is installed, for
``python -m pyperf compare_to``. ``--instructions`` counts instructions of compiled kernels with callgrind instead.
"""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.bench import against
from tests.bench.against import WorkerProcess
from tests.bench.instructions import counted

PEERS = ("jax==0.4.30", "jaxlib==0.4.30", "numpy<2", "scipy<1.13", "tf2jax==0.3.6", "neural-tangents==0.6.5")
ACTIVATIONS = ("gelu", "relu", "erf")
OPEN = ("silu", "tanh", "mish", "softplus")


@dataclass(frozen=True)
class Table:
    """Ways of computing the same, and what they are compared with.

    Args:
        title: of the table.
        ways: name in the table -> (way of the worker, threads).
        reference: the name of the way that ratios are formed with.
        unit: the way whose time is the unit of a second column of ratios, if any.
    """

    title: str
    ways: dict[str, tuple[str, int]]
    reference: str
    unit: str | None = None


def tables() -> dict[str, Table]:
    """All tables, by the names that users give."""
    found = {}
    for a in ACTIVATIONS:
        ways = {f"symres {t}": (f"map {t} {a}", 1) for t in ("c", "numba", "numpy", "torch", "jax")}
        ways |= {"symres c, two threads": (f"map c {a}", 2), "symres c, float32": (f"map32 c {a}", 1)}
        ways |= {f"{peer} of the naive formula": (f"{peer} {a}", 1) for peer in ("numexpr", "jax", "torch.compile")}
        ways |= {"lambdify with cse": (f"lambdify {a}", 1), "RBF of scikit-learn": ("rbf", 1), "np.copyto": ("copy", 1)}
        ways |= {f"{way}, similar inputs": (f"similar {way} {a}", 1) for way in ("numpy", "lambdify")}
        found[f"map-{a}"] = Table(f"Covariance map of {a}", ways, "lambdify with cse", "np.copyto")
        ways = {f"symres {t}": (f"network {t} {a}", 1) for t in ("c", "numba", "numpy")}
        ways |= {"symres c, two threads": (f"network c {a}", 2), "symres c, float32": (f"network32 c {a}", 1)}
        ways |= {"neural-tangents, jit": (f"neural-tangents {a}", 1)}
        ways |= {"neural-tangents, jit, two threads": (f"neural-tangents {a}", 2)}
        ways |= {"a line of NumPy for a line of the paper": ("paper relu", 1)} if a == "relu" else {}
        found[f"network-{a}"] = Table(f"NNGP and NTK of five layers of {a}", ways, "neural-tangents, jit")
    for a in ("relu", "erf"):
        ways = {"symres": (f"images {a}", 1), "neural-tangents, jit": (f"neural-tangents images {a}", 1)}
        title = f"NNGP and NTK of five convolutions of {a} and a global average over 16 x 16 pixels"
        found[f"images-{a}"] = Table(title, ways, "neural-tangents, jit")
    for t in ("c", "numba", "numpy"):
        ways = {f"{a}": (f"map {t} {a}", 1) for a in ("gelu", *OPEN)}
        found[f"open-{t}"] = Table(f"Kernels without a closed form beside GELU, {t}", ways, "gelu")
    return found


def measured(table: Table, size: int, rounds: int, peers: Path | None) -> dict[str, np.ndarray]:
    """Times of every way that works: name -> array of shape (rounds, 2); what does not work is told."""
    workers = {}
    for name, (way, threads) in table.ways.items():
        worker = WorkerProcess(way, threads, size, peers)
        if worker.wait():
            workers[name] = worker
        else:
            print(f"left out: {name}: {worker.lacks}", file=sys.stderr, flush=True)
    times = {name: [] for name in workers}
    try:
        for _ in range(rounds):
            for name, worker in workers.items():
                times[name].append(worker.run())
    finally:
        for worker in workers.values():
            worker.end()
    return {name: np.array(found) for name, found in times.items()}


def printed(table: Table, times: dict[str, np.ndarray], size: int) -> str:
    """The table in Markdown."""
    heads = ["way", "ns an entry", "on the wall", f"{table.reference} takes, times", "on the wall, times"]
    heads += [f"in units of {table.unit}"] if table.unit else []
    lines = [f"### {table.title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    reference = times.get(table.reference)
    for name, found in times.items():
        processor, wall = np.median(found, axis=0) / size**2 * 1e9
        cells = [name, f"{processor:.2f}", f"{wall:.2f}"]
        ratios = ["", ""] if reference is None else [f"{r:.2f}" for r in np.median(reference / found, axis=0)]
        cells += ratios
        if table.unit:
            cells.append(f"{np.median(found / times[table.unit], axis=0)[0]:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def kept(times: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """Write all processor times in the format of pyperf."""
    import pyperf

    suite = [
        pyperf.Benchmark([pyperf.Run([float(v) for v in found[:, 0]], metadata={"name": f"{table}: {name}"})])
        for table, ways in times.items()
        for name, found in ways.items()
    ]
    pyperf.BenchmarkSuite(suite).dump(str(path), replace=True)


def make_peers(folder: Path) -> None:
    """An environment for the peers that need versions of their own."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *PEERS], check=True)


def main() -> None:
    """Measure and print."""
    known = tables()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words = f"of {', '.join(known)}; with --against of {', '.join(against.COMPARISONS)}; all if none is named"
    parser.add_argument("tables", nargs="*", metavar="table", help=words)
    parser.add_argument("--size", type=int, default=2000, help="rows and columns of the matrices")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--against", metavar="COMMIT", help="compare this checkout with a commit")
    parser.add_argument("--peers", type=Path, help="the environment that --make-peers made")
    parser.add_argument("--make-peers", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    names = against.COMPARISONS if options.against else known
    unknown = [name for name in options.tables if name not in names]
    if unknown:
        parser.error(f"there is no table {unknown[0]}; there are {', '.join(names)}")
    if options.make_peers:
        make_peers(options.make_peers)
        return
    if options.against:
        against.compare(options.against, options.tables, options.size, options.rounds, options.peers)
        return
    if options.instructions:
        print(counted())
        return
    all_times = {}
    for name in options.tables or known:
        all_times[name] = measured(known[name], options.size, options.rounds, options.peers)
        print(printed(known[name], all_times[name], options.size), flush=True)
    if options.json:
        kept(all_times, options.json)


if __name__ == "__main__":
    main()
