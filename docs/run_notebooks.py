"""Run the gallery's notebooks, after ``make docs``: ``python docs/run_notebooks.py [NAME ...]``.

Each runs in a kernel of its own, in a temporary folder; an error of any cell ends the run with exit code 1.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "gallery"
LIMIT = 300  # seconds for one cell


def main(names: list[str]) -> int:
    """Run them, and print how long each takes."""
    notebooks = sorted(path for path in FOLDER.rglob("*.ipynb") if not names or path.stem in names)
    if not notebooks:
        print(f"no notebooks in {FOLDER}: run make docs")
        return 2
    for path in notebooks:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            client = NotebookClient(nbformat.read(path, 4), timeout=LIMIT, resources={"metadata": {"path": folder}})
            client.execute()
        print(f"{path.stem:45s} {time.monotonic() - begin:6.1f} s", flush=True)
    print(f"{len(notebooks)} notebooks ran")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
