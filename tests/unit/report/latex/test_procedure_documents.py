"""Documents of recursions and searches: their equations, the functions in them, derivations; LaTeX that compiles."""

import pytest

import symres as sr
from tests.command_line import needs_latex, typeset
from tests.shared import derived

MAKE = {
    "vertex": lambda: derived(sr.residual("relu")).vertex_recursion,
    "vertex of an mlp": lambda: derived(sr.mlp("relu")).vertex_recursion,
    "vertex without a closed form": lambda: derived(sr.residual("tanh")).vertex_recursion,
    "response": lambda: fischer().response_recursion(),
    "branch_scale": lambda: fischer().branch_scale_procedure(),
    "optimal_gamma": lambda: derived(sr.residual("tanh")).aspect_ratio_curve(1).inverse,
}
SHOWN = {
    "vertex": r"A^l_k\, M(K^k, K^l, C^l_k)",
    "vertex of an mlp": r"G^{l+1} &= 0",
    "vertex without a closed form": r"R(K^l)",
    "response": r"\eta^{l+1}",
    "branch_scale": r"\xi^\star",
    "optimal_gamma": r"r^\star(\gamma, n_L) &= r",
}


def fischer():
    return derived(sr.residual("erf", gamma=1, xi=sr.xi))


@pytest.mark.parametrize("name", MAKE)
def test_it_shows_the_equations_and_every_function(name):
    procedure = MAKE[name]()
    text = sr.export(procedure, target="latex").text
    assert SHOWN[name] in text
    for quantity in procedure.functions:
        assert f"{quantity.notation} &" in text
    assert procedure.call in text


def test_headings_are_typeset():
    """They have no full stop, and formulas in them stand as they were typed."""
    text = sr.export(MAKE["branch_scale"](), target="latex").text
    assert r"\section*{Weight of the branch at which outputs respond most to the kernel of their input}" in text
    text = sr.export(MAKE["response"](), target="latex", title="erf in the layer z + xi*Dense(phi(z)).").text
    heading = next(line for line in text.splitlines() if line.startswith(r"\section*"))
    assert heading.startswith(
        r"\section*{Response of deep networks to the kernel of their input: erf in the layer \texttt{z"
    )
    assert not heading.endswith(".}")


def test_averages_are_derived():
    text = sr.export(MAKE["vertex"](), target="latex").text
    assert r"\subsection*{(A1)}" in text and "Stein's lemma" in text


@needs_latex
@pytest.mark.parametrize("name", MAKE)
def test_it_compiles(name, tmp_path):
    (tmp_path / "all.tex").write_text(sr.export(MAKE[name](), target="latex").text)
    typeset(tmp_path / "all.tex")
