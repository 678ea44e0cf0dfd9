"""``symres plot``: a file, or one clear line and nothing."""

from string import ascii_letters, digits

import pytest

import symres as sr
from symres.cli.request import make
from symres.report.figures.phase_diagram import phase_diagram
from tests.command_line import page, run

ERF = ("plot", "erf", "--layer", "residual", "--set", "gamma=1/2", "--points", "3")


@pytest.mark.sample(1)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_file_is_written(capsys, tmp_path, ending):
    path = tmp_path / f"phases.{ending}"
    assert page(capsys, *ERF, "--out", str(path)) == f"wrote {path}\n"
    assert path.stat().st_size > 5000 and list(tmp_path.iterdir()) == [path]


def test_the_name_of_the_file_is_that_of_the_layer(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert page(capsys, *ERF) == "wrote erf_residual_gamma_1_2_phases.png\n"
    assert [p.name for p in tmp_path.iterdir()] == ["erf_residual_gamma_1_2_phases.png"]


STEMS = {
    ("plot", "gelu", "--layer", "residual", "--set", "gamma=9/10"): "gelu_residual_gamma_9_10_phases",
    ("plot", "swish", "--set", "beta=2", "--quantity", "xi_c"): "swish_beta_2_mlp_xi_c",
    ("plot", "tanh", "--x", "C_W=0:4"): "tanh_mlp_phases_over_C_W_0_4_C_b",
    ("plot", "tanh", "--kernel", "1/2"): "tanh_mlp_K_1_2_phases",
}
APART = [
    ("plot", "erf(a*z)", "--set", "a=2", "--set", "C_b=0.1"),
    ("plot", "erf(a*z)", "--set", "a=2", "--set", "C_b=0.2"),
    ("plot", "tanh", "--layer", "z/2+Dense(phi(z))"),
    ("plot", "tanh", "--layer", "z/3+Dense(phi(z))"),
    ("plot", "z/3+Dense(tanh(z))"),
    ("plot", "z/4+Dense(tanh(z))"),
    ("plot", "tanh", "--set", "C_b=2*pi"),
    ("plot", "tanh", "--set", "C_b=2/pi"),
    ("plot", "tanh", "--x", "C_W=0:2"),
    ("plot", "tanh", "--x", "C_W=0:3"),
]


def written_to(capsys, monkeypatch, words):
    """The name of the file that a plot is written to, nothing derived."""
    monkeypatch.setattr("symres.core.files.require_place", lambda path: pytest.exit(str(path)))
    with pytest.raises(pytest.exit.Exception) as stopped:
        run(capsys, *words)
    return str(stopped.value)


@pytest.mark.parametrize("words", STEMS)
def test_the_name_of_the_file_has_the_numbers(capsys, monkeypatch, words):
    assert written_to(capsys, monkeypatch, words) == f"{STEMS[words]}.png"


def test_figures_of_different_numbers_or_layers_have_different_names(capsys, monkeypatch):
    names = [written_to(capsys, monkeypatch, words) for words in APART]
    assert len(set(names)) == len(APART)
    assert names[2].startswith("tanh_z_over_2_plus_Dense_phi_z_") and "C_b_0.1_phases" in names[0]
    assert all(set(name) <= set(ascii_letters + digits + "_.-+") for name in names)


@pytest.mark.exhaustive
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
    "--x C_V=0:1": "unknown parameter; known: C_W, C_b",
    "--y C_W=0:1": "both axes are C_W",
    "--points 1": "points",
    "--points x": "points",
    "--points 100000": "--points 100000: 100000^2 values need too much memory; use 4000 or fewer",
    "--out ": "its value is empty",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_line(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    option, value = words.split(" ")
    extra = ("--set", "C_b=0.1") if words.startswith("--y") else ()
    code, out, err = run(capsys, *ERF, *extra, option, value)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert BAD[words] in err and not list(tmp_path.iterdir())


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("leaky_relu", "no value was passed for slope; add --set slope=0.5"),
        ("gelo", "gelu"),
    ],
)
def test_layers_that_have_no_diagram(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "plot", *words.split(), "--points", "3")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err and not list(tmp_path.iterdir())


def test_a_free_skip_connection_is_the_advised_one(capsys, tmp_path):
    path = tmp_path / "phases.png"
    assert page(capsys, "plot", "gelu", "--layer", "residual", "--points", "3", "--out", str(path)) == f"wrote {path}\n"


@pytest.mark.exhaustive  # advice on a batch takes seconds; the diagram itself is in the fast lane
def test_a_layer_that_normalises_over_a_batch_is_drawn(capsys, tmp_path):
    path = tmp_path / "phases.png"
    words = ("plot", "relu", "--layer", "batch_norm", "--points", "3", "--out", str(path))
    assert page(capsys, *words) == f"wrote {path}\n" and path.exists()


def test_the_skip_of_a_layer_may_be_an_axis(capsys, tmp_path):
    """Its default is a number."""
    path = tmp_path / "phases.png"
    code, _, _ = run(
        capsys, "plot", "tanh", "--layer", "pre_ln", "--set", "C_b=0.1", "--y", "gamma=0:1", "--points", "5",
        "--out", str(path),
    )  # fmt: skip
    assert code == 0 and path.exists()


def test_axes_may_be_parameters_of_formulas_and_equations():
    """Of max(z, a z) chi_perp is C_W (1 + a^2)/2, of g z + Dense(relu(z)) g^2 + C_W/2, wherever the kernel is kept."""
    slopes = make("where(z>0,z,a*z)", "mlp", ["C_b=1/10"], free=[("C_W", 0, 2), ("a", -1, 1)]).layer
    skips = make("relu", "g*z + Dense(phi(z))", ["C_b=1/10"], free=[("g", 0, 1)]).layer
    for layer, name, expected in ((slopes, "a", lambda a: (1 + a**2) / 4), (skips, "g", lambda g: g**2 + 1 / 4)):
        found = phase_diagram(sr.derive(layer), ("C_W", 0.5, 1.0), (name, 0.0, 0.5), points=3)
        assert found.chi_perp[:, 0] == pytest.approx([expected(v) for v in (0.0, 0.25, 0.5)], rel=1e-12)


def test_a_formula_over_its_own_parameter_is_drawn(capsys, tmp_path):
    path = tmp_path / "slopes.png"
    words = ("plot", "where(z>0,z,a*z)", "--set", "C_b=0.1", "--y", "a=0:1", "--points", "8", "--out", str(path))
    assert page(capsys, *words) == f"wrote {path}\n"
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("ends", "sign"), [((0.5, 2), "positive"), ((0, 2), "nonnegative"), ((-2, -1), "negative"), ((-1, 1), "real")]
)
def test_a_range_says_which_sign_a_parameter_has(ends, sign):
    """1/(1 + |z|/a) is finite for a > 0; exp(-a z^2) has no average for a < 0."""
    (parameter,) = make("erf(a*z)", "mlp", ["C_b=1/10"], free=[("a", *ends)]).phi.parameters
    assert getattr(parameter, f"is_{sign}")
    if sign != "positive":
        with pytest.raises(sr.DeclarationError, match="not finite"):
            make("z/(a+abs(z))", "mlp", ["C_b=1/10"], free=[("a", *ends)])
    else:
        drawn = make("exp(-a*z^2)", "mlp", ["C_b=1/10"], free=[("a", *ends)]).layer
        found = phase_diagram(sr.derive(drawn), ("a", *ends), ("C_W", 0.1, 1), points=2)
        kernel = 1.0
        for _ in range(200):
            kernel = 0.1 + 0.1 / (1 + 4 * 0.5 * kernel) ** 0.5
        assert found.kernel[0, 0] == pytest.approx(kernel, rel=1e-9)


def test_a_layer_with_pieces_in_its_equation_has_a_title_in_words(capsys, tmp_path):
    """A forward equation over several lines has no place in a title."""
    path = tmp_path / "phases.png"
    words = ("plot", "where(z>0,z,a*z)", "--layer", "z/2 + b*Dense(phi(z))", "--x", "a=-1:1", "--y", "b=0:2")
    assert page(capsys, *words, "--set", "C_W=1", "--set", "C_b=0.1", "--points", "6", "--out", str(path))
    assert path.exists()


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (("plot", "swish"), "beta; add --set beta=0.5"),
        (("plot", "scale_invariant"), "a_minus, a_plus; add --set a_minus=0.5 --set a_plus=0.5"),
        (("torch", "gain", "leaky_relu"), "slope has no number; add --set slope=1"),
    ],
)
def test_messages_name_the_options_of_the_command_line(capsys, tmp_path, monkeypatch, words, typed):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "") and err.endswith(f"{typed}\n") and "by name" not in err


def test_in_python_they_name_arguments():
    with pytest.raises(sr.DeclarationError, match=r"pass numbers by name: beta=0\.5"):
        phase_diagram(sr.derive("swish"))
