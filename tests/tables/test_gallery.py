"""The gallery: every example runs, makes a picture, says what it shows, and belongs to one topic."""

import importlib
import re
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

GALLERY = Path(__file__).parents[2] / "derivations" / "gallery"
EXAMPLES = sorted(path.stem for path in GALLERY.glob("plot_*.py"))
TOPICS = ("init", "training", "residual", "kernels", "phases", "maths", "code")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_makes_a_picture(name, monkeypatch, tmp_path):
    """Its own asserts compare its main number with something that shares no code with symres."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    pyplot.close("all")
    example = importlib.import_module(f"derivations.gallery.{name}")
    figures = [value for value in vars(example).values() if isinstance(value, Figure)]
    assert figures or pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_answers_a_question(name):
    text = (GALLERY / f"{name}.py").read_text()
    title, question = re.match(r'r?"""\n(.+)\n=+\n\n\*((?:.|\n)+?)\*\n', text).groups()
    assert question.rstrip().endswith("?") and len(title) <= 72
    assert "What it shows" in text
    assert re.search(r"^ *assert ", text, re.MULTILINE) or "testing.assert" in text
    assert name.split("_")[1] in TOPICS


def test_there_are_examples_for_everybody():
    titles = [(GALLERY / f"{name}.py").read_text().splitlines()[1] for name in EXAMPLES]
    assert len(EXAMPLES) >= 25 and len(set(titles)) == len(titles)
    assert {name.split("_")[1] for name in EXAMPLES} == set(TOPICS)
