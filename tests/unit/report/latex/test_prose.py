"""Sentences with formulas in them, as LaTeX."""

import pytest

from symres.report.latex.prose import prose


def test_formulas_in_every_clause_of_a_reason_are_typeset():
    reason = "z**(2/3) is not a polynomial; sqrt(2)*exp(z)/4 - sqrt(2)/4 is not a sine"
    assert prose(reason) == (r"$z^{2/3}$ is not a polynomial; $\frac{e^{z} - 1}{2 \sqrt{2}}$ is not a sine")


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("K* = 0 is not a fixed point", "$K^* = 0$ is not a fixed point"),
        ("no C_W > 0 makes chi_perp 1", r"no $C_W > 0$ makes $\chi_\perp$ 1"),
        ("C_b = 2*K with 100% of it", r"$C_b$ = $2 K$ with 100\% of it"),
        ("tanh(z) is not a polynomial", r"$\tanh(z)$ is not a polynomial"),
        ("parallel susceptibility dK'/dK", r"parallel susceptibility $\mathrm{d}K'/\mathrm{d}K$"),
        ("a_b {x} sharp", r"a\_b \{x\} sharp"),
        (
            "networks where C_b >= 0 and -1 <= chi_parallel <= 1",
            (r"networks where $C_b \ge  0$ and $-1 \le  \chi_\parallel \le  1$"),
        ),
        ("skips below 1, |gamma| < 1", r"skips below 1, $|\gamma| < 1$"),
        ("of size <= 3 or |x|", r"of size $\le$ 3 or \textbar{}x\textbar{}"),
    ],
)
def test_sentences_become_latex(sentence, shown):
    assert prose(sentence) == shown


def test_what_a_user_types_is_set_as_it_is_typed():
    text = prose("Give beta (--set beta=...) and a (--set a=...) a number.")
    assert text == r"Give $\beta$ (\texttt{--set beta=...}) and a (\texttt{--set a=...}) a number."


def test_numbers_with_a_power_of_ten_are_set_as_mathematics():
    text = prose("relative error below 1e-3 up to K = 5e-2, from 2e4 on")
    assert prose("by a factor of 5.5e+08") == r"by a factor of $5.5 \cdot 10^{8}$"
    assert text == r"relative error below $10^{-3}$ up to $K = 5 \cdot 10^{-2}$, from $2 \cdot 10^{4}$ on"
