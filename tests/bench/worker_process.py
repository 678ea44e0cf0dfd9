"""A process that computes in one way, run by run."""

import os
import subprocess
import sys
from pathlib import Path

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
