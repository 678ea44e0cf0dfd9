"""What the README says, happens."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import process

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SCREEN = ROOT / "docs" / "_static" / "first_screen.json"
MOST_BYTES = 8 * 1024  # what people read before they decide


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[-1][:40])
def test_the_examples_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one writes a file
    exec(compile(code, "README.md", "exec"), {})


def test_the_table_shown_is_the_table_printed():
    (shown,) = blocks("console")
    command, *lines = shown.rstrip("\n").splitlines()
    printed = process(*shlex.split(command.removeprefix("$ symres ")), PYTHONIOENCODING="utf-8").stdout.decode()
    assert printed.rstrip("\n").splitlines() == lines


def test_it_is_a_first_screen():
    assert len(README.encode()) <= MOST_BYTES
    assert "The Principles of Deep Learning Theory*, arXiv:2106.10165" in README


def test_files_and_commands_that_are_named_exist():
    for target in re.findall(r"\]\(([^)#]+)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    examples = [f"derivations.gallery.{name}" for name in re.findall(r"`(plot_\w+)`", README)]
    for module in re.findall(r"python -m (derivations[.a-z_]+[a-z_])`", README) + examples:
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module
    assert len(examples) == 6


def test_thumbnails_have_the_titles_of_their_examples():
    found = re.findall(r"\[!\[([^\]]+)\]\(\S+\)\]\((derivations/gallery/plot_\w+\.py)\) ([^`]+) `", README)
    assert len(found) == 6
    for alternative, path, shown in found:
        assert alternative == shown == (ROOT / path).read_text("utf-8").splitlines()[1]


def test_the_two_commands_are_marked():
    assert len(blocks("sh run")) == 1
    assert len(blocks("sh test")) == 1
    assert "symres derive gelu" in blocks("sh run")[0]
    assert "python -m pytest" in blocks("sh test")[0]


# ---- the picture and its numbers -------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_picture():
    accuracies = json.loads(SCREEN.read_text())["accuracy"]["accuracies"]
    (sentence,) = re.findall(r"^50-layer GELU networks on digits.*$", README, re.MULTILINE)
    shown = [
        f"{accuracies[phi][scheme][0]:.2f}" for phi in ("gelu", "mish", "tanh") for scheme in ("Kaiming", "st.init_")
    ]
    assert re.findall(r"0\.\d\d", sentence) == [*shown, f"{accuracies['tanh']['Xavier'][0]:.2f}"]


def test_numbers_beside_the_accuracies_are_those_of_the_experiment():
    from derivations.trained_initialisation import RATES

    accuracy = json.loads(SCREEN.read_text())["accuracy"]
    (sentence,) = re.findall(r"^50-layer GELU networks on digits.*$", README, re.MULTILINE)
    words = {3: "three", 11: "eleven"}
    assert f"{accuracy['depth']}-layer" in sentence
    assert f"after {accuracy['steps']} steps" in sentence
    assert f"best of {words[len(RATES)]} learning rates" in sentence
    assert f"{words[accuracy['seeds']]} seeds, whose standard errors are below 0.1" in sentence
    assert max(error for row in accuracy["accuracies"].values() for _, error in row.values()) < 0.1


def test_the_examples_of_the_gallery_are_counted():
    from derivations.gallery.pictures import EXAMPLES

    assert f"lists all {len(EXAMPLES)}," in README


def test_the_picture_was_made_by_the_scripts_as_they_are():
    from derivations.gallery.first_screen import fingerprint

    remedy = "run: python -m derivations.gallery.readme_picture"
    assert json.loads(SCREEN.read_text())["scripts"] == fingerprint(), remedy


def test_the_lines_of_the_picture_are_the_theory_and_its_dots_lie_on_them():
    signals = json.loads(SCREEN.read_text())["signals"]
    for curve in signals["curves"].values():
        theory, lower, upper = (curve[key] for key in ("theory", "lower", "upper"))
        inside = [low / 2 <= kernel <= 2 * high for kernel, low, high in zip(theory, lower, upper, strict=True)]
        assert all(inside) and len(theory) == 51
    assert signals["width"] == 512
    assert signals["curves"]["He"]["theory"][-1] < 1e-11 < 3 < signals["curves"]["critical (symres)"]["theory"][-1]


@pytest.mark.exhaustive
def test_the_picture_made_anew_has_the_same_numbers(tmp_path):
    """A quarter of an hour: networks are drawn and trained again, on a processor that may add up in another order."""
    from derivations.gallery import readme_picture

    again = json.loads(readme_picture.main(["--out", str(tmp_path)]).with_suffix(".json").read_text())
    before = json.loads(SCREEN.read_text())
    assert again["phases"]["critical_points"] == before["phases"]["critical_points"]
    for name, curve in again["signals"]["curves"].items():
        assert curve["theory"] == pytest.approx(before["signals"]["curves"][name]["theory"], rel=1e-5)
        assert curve["median"] == pytest.approx(before["signals"]["curves"][name]["median"], rel=1e-2)
    for phi, row in again["accuracy"]["accuracies"].items():
        for scheme, (mean, error) in row.items():
            other, deviation = before["accuracy"]["accuracies"][phi][scheme]
            assert abs(mean - other) <= 3 * (error + deviation) + 0.02, (phi, scheme)


@pytest.mark.exhaustive
def test_small_networks_make_both_files(tmp_path):
    from derivations.gallery import readme_picture

    path = readme_picture.main(["--quick", "--out", str(tmp_path)])
    assert path.read_bytes().startswith(b"\x89PNG") and json.loads(path.with_suffix(".json").read_text())["phases"]
