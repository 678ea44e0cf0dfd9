"""``derive --out`` where some code cannot be generated: the rest is written, and the page says what is not and why."""

import pytest

from symres.cli.commands import bundle
from symres.core.errors import NoClosedForm, SymresError
from symres.report.export import export
from tests.command_line import run

WHOLE = {"derivation.tex", "results.json", "maps.pdf", "maps.png", "maps.svg", "relu_numpy.py", "relu_torch.py"}


TOO_FAST = "the function varies too fast within the width of the Gaussian\n"


def unwrapped(text):
    return " ".join(text.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize("failing", [("torch",), ("numpy", "torch")], ids=str)
def test_a_module_that_cannot_be_generated_keeps_nothing_else_back(capsys, monkeypatch, tmp_path, failing):
    def refusing(theory, target, **options):
        if target in failing:
            raise SymresError("code", "quadrature is off", "export to LaTeX")
        return export(theory, target, **options)

    monkeypatch.setattr(bundle, "export", refusing)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == WHOLE - {f"relu_{target}.py" for target in failing}
    for target in ("numpy", "torch"):
        assert (f"no {target} module: quadrature is off" in unwrapped(out)) == (target in failing)


@pytest.mark.exhaustive
def test_quantities_without_code_are_named_once(capsys, monkeypatch, tmp_path):
    def lacking(theory, target, **options):
        module = export(theory, target, **options)
        object.__setattr__(module, "missing", ("covariance_map: quadrature is off",))
        return module

    monkeypatch.setattr(bundle, "export", lacking)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == WHOLE
    assert unwrapped(out).count("no numpy and torch code for covariance_map: quadrature is off") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["exp(z)", "cos(z)+relu(z)"])
def test_growth_and_waves_have_both_modules(capsys, tmp_path, formula):
    code, out, err = run(capsys, "derive", formula, "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert len([p for p in (tmp_path / "out").iterdir() if p.suffix == ".py"]) == 2
    assert " code for " not in out


@pytest.mark.exhaustive
def test_a_plot_that_cannot_be_drawn_keeps_nothing_else_back(capsys, monkeypatch, tmp_path):
    def refusing(report):
        raise NoClosedForm("numpy code for chi_perp", "it varies too fast", "export to LaTeX")

    monkeypatch.setattr(bundle, "curves", refusing)
    code, out, err = run(capsys, "derive", "relu", "--out", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {p for p in WHOLE if not p.startswith("maps")}
    assert unwrapped(out).count("no plot: it varies too fast") == 1


@pytest.mark.exhaustive
def test_functions_that_end_early_are_announced(capsys, tmp_path):
    code, _, err = run(capsys, "export", "sin(z^2)", "--quantity", "kernel_map", "--out", str(tmp_path / "f.py"))
    assert code == 0
    assert err == "symres: warning: kernel_map: nan beyond kernels of 300: " + TOO_FAST
