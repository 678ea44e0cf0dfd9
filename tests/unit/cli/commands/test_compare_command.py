"""``symres compare``."""

import json

import pytest

from symres.cli import run


def test_a_table_on_the_page_and_in_a_file(capsys, tmp_path):
    assert run(["compare", "relu", "abs", "--set", "gamma=1/2", "--layer", "residual"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("activations in the layer residual, gamma = 1/2\n\n")
    place = tmp_path / "table.json"
    assert run(["compare", "relu", "leaky_relu", "--set", "slope=1/10", "--json", "--out", str(place)]) == 0
    document = json.loads(place.read_text())
    assert [row["activation"] for row in document["activations"]] == ["relu", "leaky_relu(slope=1/10)"]
    assert document["activations"][0]["nu"] == pytest.approx(5, rel=1e-14)
