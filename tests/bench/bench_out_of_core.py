"""A tangent kernel that does not fit into memory, killed once: ``python tests/bench/bench_out_of_core.py FOLDER``.

The tangent kernel of 40000 inputs behind a read-in and five layers, 12.8 GB in float64, is written twice: in one run,
and in a run that is killed (SIGKILL) when the share ``--kill`` of its blocks is in the journal, and resumed. Printed
are the times, the largest resident memory of each run (mapped pages included), and whether both files are equal to the
last bit. The folder needs twice the room, which is checked first; the files are removed in the end.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import symres as sr

LIMIT = 2e9  # bytes of resident memory
FEATURES = 32


def inputs(size):
    return np.random.default_rng(0).standard_normal((size, FEATURES))


def work(path, size, chunks, activation):
    """What a child does: write the matrix, and say how much memory that took."""
    import symres.kernels

    module = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), *[activation] * 5]))
    symres.kernels.matrix(module, inputs(size), chunks=chunks, out=path, C_W=1.9, C_b=0.1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def child(path, options):
    command = [sys.executable, __file__, str(path.parent), "--size", str(options.size), "--chunks", str(options.chunks)]
    command += ["--activation", options.activation, "--child", path.name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)


def finished(path):
    journal = path.with_name(f"{path.name}.journal")
    return journal.read_text().count("\n") - 1 if journal.exists() else 0


def whole_run(path, options):
    start = time.perf_counter()
    memory = int(child(path, options).communicate()[0])
    return time.perf_counter() - start, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=40000)
    parser.add_argument("--chunks", type=int, default=2048)
    parser.add_argument("--activation", default="gelu")
    parser.add_argument("--format", choices=("npy", "zarr"), default="npy")
    parser.add_argument("--kill", type=float, default=0.4)
    parser.add_argument("--child", default="")
    options = parser.parse_args()
    if options.child:
        return work(options.folder / options.child, options.size, options.chunks, options.activation)
    bytes_of_one = 8 * options.size**2
    if shutil.disk_usage(options.folder).free < 2.2 * bytes_of_one:
        return print(f"two files of {bytes_of_one / 1e9:.3g} GB need more room than {options.folder} has")
    once, twice = (options.folder / f"{name}.{options.format}" for name in ("once", "twice"))
    side = -(-options.size // options.chunks)
    blocks = side * (side + 1) // 2
    print(
        f"N = {options.size}, {bytes_of_one / 1e9:.3g} GB, {blocks} blocks of {options.chunks}^2, {options.activation}"
    )
    seconds, memory = whole_run(once, options)
    print(f"uninterrupted: {seconds:.0f} s, at most {memory / 1e9:.2f} GB resident")
    running = child(twice, options)
    while finished(twice) < options.kill * blocks:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = finished(twice)
    seconds, again = whole_run(twice, options)
    print(f"killed with {kept} blocks of {blocks} in the journal, resumed: {seconds:.0f} s, {again / 1e9:.2f} GB")
    equal, first, second = True, *(opened(path) for path in (once, twice))
    for start in range(0, options.size, 500):
        rows = slice(start, start + 500)
        equal &= bool((first[rows] == second[rows]).all() and np.isfinite(first[rows]).all())
    print(f"equal: {equal}; below {LIMIT / 1e9:.0f} GB: {max(memory, again) < LIMIT}")
    for path in (once, twice):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.with_name(f"{path.name}.journal").unlink()


def opened(path):
    """Rows are read from the disk: a mapped file of this size would be counted as memory."""
    import zarr

    return np.load(path, mmap_mode="r") if path.suffix == ".npy" else zarr.open_array(store=path, mode="r")


if __name__ == "__main__":
    main()
