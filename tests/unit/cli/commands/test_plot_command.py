"""``symres plot``: a file, or one clear line and nothing."""

from string import ascii_letters, digits

import pytest

import symres as sr
from symres.cli.request import make
from symres.report.figures.phase_diagram import phase_diagram
from tests.command_line import page, run

ERF = ("plot", "erf", "--layer", "residual", "--set", "gamma=1/2", "--points", "3")


DRAWN = {
    "erf --layer residual --set gamma=1/2 --points 3": "png",
    "gelu --layer residual --points 3": "png",  # at the advised skip connection
    "erf --layer residual --set C_b=0.1 --points 3 --x C_W=0:4 --y gamma=0:1": "svg",
    "tanh --layer pre_ln --set C_b=0.1 --y gamma=0:1 --points 5": "png",  # whose default is a number
    "where(z>0,z,a*z) --set C_b=0.1 --y a=0:1 --points 8": "pdf",
    # a forward equation over several lines has no place in a title
    "where(z>0,z,a*z) --layer z/2+b*Dense(phi(z)) --x a=-1:1 --y b=0:2 --set C_W=1 --set C_b=0.1 --points 6": "png",
}


@pytest.mark.parametrize("words", DRAWN)
def test_a_file_is_written(capsys, tmp_path, words):
    path = tmp_path / f"phases.{DRAWN[words]}"
    assert page(capsys, "plot", *words.split(), "--out", str(path)) == f"wrote {path}\n"
    assert path.stat().st_size > 5000 and list(tmp_path.iterdir()) == [path]


@pytest.mark.exhaustive  # advice on a batch takes seconds; the diagram itself is in the fast lane
def test_a_layer_that_normalises_over_a_batch_is_drawn(capsys, tmp_path):
    words = ["relu", "--layer", "batch_norm", "--points", "3"]
    page(capsys, "plot", *words, "--out", str(tmp_path / "phases.png"))
    assert (tmp_path / "phases.png").exists()


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


def test_axes_may_be_parameters_of_formulas_and_equations():
    """Of max(z, a z) chi_perp is C_W (1 + a^2)/2, of g z + Dense(relu(z)) g^2 + C_W/2, wherever the kernel is kept."""
    slopes = make("where(z>0,z,a*z)", "mlp", ["C_b=1/10"], free=[("C_W", 0, 2), ("a", -1, 1)]).layer
    skips = make("relu", "g*z + Dense(phi(z))", ["C_b=1/10"], free=[("g", 0, 1)]).layer
    for layer, name, expected in ((slopes, "a", lambda a: (1 + a**2) / 4), (skips, "g", lambda g: g**2 + 1 / 4)):
        found = phase_diagram(sr.derive(layer), ("C_W", 0.5, 1.0), (name, 0.0, 0.5), points=3)
        assert found.chi_perp[:, 0] == pytest.approx([expected(v) for v in (0.0, 0.25, 0.5)], rel=1e-12)


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
