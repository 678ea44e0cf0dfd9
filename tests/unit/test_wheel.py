"""An installed wheel finds its templates and derives, far from the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.exhaustive
def test_the_installed_wheel_derives_and_writes(tmp_path):
    def run(*command, **options):
        return subprocess.run(
            [sys.executable, *command], check=True, capture_output=True, text=True, encoding="utf-8", **options
        ).stdout

    run("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    run("-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel))
    # -P and the clean path keep the checkout out of sight; the installed wheel alone can answer
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8"}
    code = (
        "import symres, sys; assert symres.__file__.startswith(sys.argv.pop(1)), symres.__file__;"
        "from symres.cli import main; main()"
    )
    out = tmp_path / "out"
    page = run("-c", code, str(site), "derive", "gelu", "--out", str(out), cwd=tmp_path, env=environment)
    assert "3.56155281280883" in page
    assert {path.suffix for path in out.iterdir()} == {".tex", ".json", ".pdf", ".png", ".svg", ".py"}
