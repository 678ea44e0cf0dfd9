"""The random lane on the command line: every declaration in a process of its own, and the outcomes as JSON lines."""

import argparse
import json
import os
import resource
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import symres as sr

from .stages import RUN, Outcome, declared

THOROUGH = 10  # one declaration in so many is checked and exported too
SECONDS = 900  # of processor time: then a declaration has ended by no budget of symres
MEMORY = 6 * 2**30  # bytes of address space of a declaration


def main() -> int:
    """Run what FILE does not have yet; exit with 1 if anything is at fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_lane", description=__doc__)
    for kind, number in (("formula", 2000), ("equation", 500), ("name", 300)):
        parser.add_argument(f"--{kind}s", type=int, default=number)
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--thorough", type=int, default=THOROUGH, help="check and export one in so many")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("random_lane.jsonl"))
    options = parser.parse_args()
    wanted = [
        (kind, seed) for kind in RUN for seed in range(options.start, options.start + getattr(options, f"{kind}s"))
    ]
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(row["kind"], row["seed"]) for row in rows}
    pending = [case for case in wanted if case not in done]
    _load()
    running: dict[int, tuple[str, int]] = {}
    with options.out.open("a") as file:
        while pending or running:
            while pending and len(running) < options.workers:
                kind, seed = pending.pop(0)
                running[_start(kind, seed, seed % options.thorough == 0, options.out)] = (kind, seed)
            process, status, usage = os.wait4(-1, 0)
            kind, seed = running.pop(process)
            row = _row(options.out, kind, seed, status)
            row["seconds"], row["megabytes"] = round(usage.ru_utime + usage.ru_stime, 1), usage.ru_maxrss // 1024
            file.write(json.dumps(row) + "\n")
            file.flush()
            rows.append(row)
            if row["faults"]:
                print(f"{kind} {seed} {row['text'][:100]}: {'; '.join(row['faults'])}", flush=True)
    return _summary(rows)


def _load() -> None:
    """Load once, before the first fork, what every declaration would load for itself; none of it starts a thread."""
    theory = sr.derive("tanh")
    theory.page()
    sr.check(theory, against="quadrature")


def _part(out: Path, kind: str, seed: int) -> Path:
    return out.with_name(f".{out.name}.{kind}.{seed}")


def _start(kind: str, seed: int, thorough: bool, out: Path) -> int:
    """Run a declaration in a child of this process; the number of the process."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        _part(out, kind, seed).write_text(json.dumps(asdict(RUN[kind](seed, thorough))))
        code = 0
    finally:
        os._exit(code)


def _row(out: Path, kind: str, seed: int, status: int) -> dict[str, Any]:
    part = _part(out, kind, seed)
    if not part.exists():
        faults = [f"the process ended with {status}: a signal, or more than {SECONDS} s or {MEMORY >> 30} GiB"]
        return asdict(Outcome(kind, seed, declared(kind, seed), {}, faults))
    row = json.loads(part.read_text())
    part.unlink()
    return row


def _summary(rows: list[dict[str, Any]]) -> int:
    for kind in RUN:
        chosen = [row for row in rows if row["kind"] == kind]
        ends = Counter(end.partition(":")[0] for row in chosen for end in list(row["stages"].values())[-1:])
        print(f"{kind}: {len(chosen)}, at fault {sum(bool(row['faults']) for row in chosen)}; last stage {dict(ends)}")
    for name in ("seconds", "megabytes"):
        largest = sorted(rows, key=lambda row: -row[name])[:5]
        print(f"most {name}: " + ", ".join(f"{row[name]} {row['kind']} {row['seed']}" for row in largest))
    return 1 if any(row["faults"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
