"""``symres plot``: a file, or one clear line and nothing."""

import pytest

from tests.command_line import page, run

ERF = ("plot", "erf", "--layer", "residual", "--set", "gamma=1/2", "--points", "3")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_file_is_written(capsys, tmp_path, ending):
    path = tmp_path / f"phases.{ending}"
    assert page(capsys, *ERF, "--out", str(path)) == f"wrote {path}\n"
    assert path.stat().st_size > 5000 and list(tmp_path.iterdir()) == [path]


def test_the_name_of_the_file_is_that_of_the_layer(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert page(capsys, *ERF) == "wrote erf_residual_phases.png\n"
    assert [p.name for p in tmp_path.iterdir()] == ["erf_residual_phases.png"]


def test_axes_are_taken(capsys, tmp_path):
    path = tmp_path / "skips.svg"
    words = ["plot", "erf", "--layer", "residual", "--set", "C_b=0.1", "--points", "3", "--out", str(path)]
    page(capsys, *words, "--x", "C_W=0:4", "--y", "gamma=0:1")
    assert "gamma" in path.read_text() or "\\gamma" in path.read_text()


BAD = {
    "--out phases.txt": "end it with .pdf, .png or .svg",
    "--out nowhere/phases.png": "there is no folder",
    "--x C_W": "name=low:high",
    "--x C_W=4:0": "no length",
    "--x C_W=a:1": "'a' is not a finite real number",
    "--x C_W=-1:1": "C_W is not negative",
    "--x C_V=0:1": "no such parameter; known: C_W, C_b",
    "--y C_W=0:1": "both axes are C_W",
    "--points 1": "points",
    "--points x": "points",
    "--out ": "its value is empty",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_line(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    option, value = words.split(" ")
    extra = ("--set", "C_b=0.1") if words.startswith("--y") else ()
    code, out, err = run(capsys, *ERF, *extra, option, value)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert BAD[words] in err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("erf --layer residual", "no value for gamma; pass numbers by name: gamma=0.5"),
        ("relu --layer batch_norm", "normalises over a batch"),
        ("leaky_relu", "no value for slope"),
        ("gelo", "gelu"),
    ],
)
def test_layers_that_have_no_diagram(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "plot", *words.split(), "--points", "3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err and not list(tmp_path.iterdir())


def test_the_skip_of_a_layer_may_be_an_axis(capsys, tmp_path):
    """Its default is a number."""
    path = tmp_path / "phases.png"
    code, _, _ = run(
        capsys, "plot", "tanh", "--layer", "pre_ln", "--set", "C_b=0.1", "--y", "gamma=0:1", "--points", "5",
        "--out", str(path),
    )  # fmt: skip
    assert code == 0 and path.exists()
