"""How much of symres do the two lanes of the suite execute, lines and branches?

    python -m pytest -m "" --cov=symres --cov-branch --cov-context=test --cov-report=   # which test executes which line
    python -m tests.lane_coverage

Both figures come from one run: the fast lane's is made of what its tests executed, and of what imports execute.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import tempfile
from pathlib import Path

from coverage import Coverage

from tests.mutants import ROOT, collected

SHOWN = 25  # modules in which the lanes differ most


def of_lane(data: Path, to: Path, tests: frozenset[str]) -> None:
    """Coverage data of some tests and of imports, without contexts; see coverage's "database schema" for the tables."""
    with sqlite3.connect(data) as base:
        contexts = base.execute("select id, context from context").fetchall()
        kept = [number for number, name in contexts if "::" not in name or name.partition("|")[0] in tests]
        base.execute("attach ? as lane", (str(to),))
        for (schema,) in base.execute("select sql from main.sqlite_master where type = 'table'").fetchall():
            base.execute(re.sub("(?i)create table ", "create table lane.", schema, count=1))
        for table in ("coverage_schema", "meta", "file", "tracer"):
            base.execute(f"insert into lane.{table} select * from main.{table}")
        base.execute("insert into lane.context values (1, '')")
        base.execute("create temporary table kept (number integer primary key)")
        base.executemany("insert into kept values (?)", [(number,) for number in kept])
        base.execute(
            "insert into lane.arc select distinct file_id, 1, fromno, tono from main.arc "
            "where context_id in (select number from kept)"
        )


def totals(data: Path) -> dict[str, tuple[int, int]]:
    """Lines and branches executed, and all there are, by module."""
    coverage = Coverage(data_file=str(data), branch=True, source=[str(ROOT / "symres")])
    coverage.load()
    written = data.with_suffix(".json")
    coverage.json_report(outfile=str(written))
    found = {}
    for path, module in json.loads(written.read_text())["files"].items():
        counted = module["summary"]
        executed = counted["covered_lines"] + counted["covered_branches"]
        found[path] = executed, counted["num_statements"] + counted["num_branches"]
    return found


def main() -> None:
    """Print the coverage of both lanes together and of the fast one, and where they differ most."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT / ".coverage", help="coverage with contexts, of both lanes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name in ("", "not exhaustive"):
            of_lane(asked.data, Path(folder) / f"lane {name}", collected(name))
            found.append(totals(Path(folder) / f"lane {name}"))
    whole, fast = found
    everything = sum(count for _, count in whole.values())
    for name, lane in (("both lanes", whole), ("fast lane", fast)):
        print(f"{name:12} {100 * sum(executed for executed, _ in lane.values()) / everything:.2f} % of {everything}")
    lost = sorted(((whole[path][0] - fast[path][0], path) for path in whole), reverse=True)
    for count, path in lost[:SHOWN]:
        if count:
            print(f"{count:5} of {whole[path][1]:5}  {path}")


if __name__ == "__main__":
    main()
