"""The gallery: every example runs, makes a picture, says what it shows, and belongs to one topic."""

import re
from pathlib import Path

import pytest

from derivations.gallery.__main__ import main
from derivations.gallery.pictures import EXAMPLES

GALLERY = Path(__file__).parents[2] / "derivations" / "gallery"
TOPICS = ("init", "training", "residual", "kernels", "phases", "maths", "code")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_makes_a_picture(name, monkeypatch, tmp_path):
    """Its own asserts compare its main number with something that shares no code with symres."""
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    paths = main([name])
    assert paths[0].name == f"{name}.png" and all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
    pyplot.close("all")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_answers_a_question(name):
    text = (GALLERY / f"{name}.py").read_text()
    title, question = re.match(r'r?"""\n(.+)\n=+\n\n\*((?:.|\n)+?)\*\n', text).groups()
    assert question.rstrip().endswith("?") and len(title) <= 72
    assert "What it shows" in text
    assert re.search(r"^ *assert ", text, re.MULTILINE) or "testing.assert" in text
    assert name.split("_")[1] in TOPICS


def test_examples_are_listed_with_their_questions(capsys):
    assert main([]) == []
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == EXAMPLES and all(line.rstrip().endswith("?") for line in lines[1::2])


def test_an_example_without_its_library_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("derivations.gallery.__main__.pictures", lambda name: __import__("no_library_of_this_name"))
    with pytest.raises(SystemExit) as stop:
        main([EXAMPLES[0]])
    assert stop.value.code == 2
    assert 'needs no_library_of_this_name: pip install ".[docs]"' in capsys.readouterr().err


def test_there_are_examples_for_everybody():
    titles = [(GALLERY / f"{name}.py").read_text().splitlines()[1] for name in EXAMPLES]
    assert len(EXAMPLES) >= 25 and len(set(titles)) == len(titles)
    assert {name.split("_")[1] for name in EXAMPLES} == set(TOPICS)
