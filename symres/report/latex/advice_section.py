"""Advice on initialisation in a LaTeX document: a table of numbers, the lines for PyTorch, sentences."""

from __future__ import annotations

import sympy as sp

from ...results.advice.advice import Advice
from ...results.advice.parts import DIGITS
from .displays import escape, latex
from .prose import number_text, prose, verbatim

_FACTORS = 3  # digits of what is measured


def advice_section(advice: Advice) -> dict[str, object]:
    """What the template shows; a table only where something holds.

    Returns:
        keys: depth, width, rows (of the table, empty if there is none), code, sentences; schemes_title, scheme_heads
        and schemes, the rows of the table of customary schemes.
    """
    return {
        "depth": advice.depth,
        "width": advice.width,
        "rows": [f"{name} & {value}" for name, value in _table(advice).items()] if advice.holds else [],
        "code": [verbatim(line) for line in advice.code],
        "sentences": [prose(text) for text in advice.reasons],
        "schemes_title": prose(advice.schemes_title),
        "scheme_heads": " & ".join("$C_W$" if head == "C_W" else head for head in advice.scheme_heads),
        "schemes": [" & ".join(map(_cell, row)) for row in advice.schemes],
    }


def _cell(text: str) -> str:
    """A number as mathematics, words as they are."""
    return "--" if text == "-" else f"${number_text(float(text), _FACTORS)}$" if text[0].isdigit() else escape(text)


def _table(advice: Advice) -> dict[str, str]:
    """What to draw and how to scale the inputs; by which factors kernels and gradients changed in drawn networks."""
    numbers = {"fan-in times variance of weights, $C_W$": advice.C_W, "variance of biases, $C_b$": advice.C_b}
    numbers |= {f"${latex(sp.Symbol(name))}$": value for name, value in advice.parameters.items()}
    numbers |= {"kernel of the first preactivations, $K^0$": None if advice.any_scale else advice.kernel}
    numbers |= {"mean square of the inputs": None if advice.any_scale else advice.inputs_kernel}
    rows = {head: f"${number_text(value, DIGITS)}$" for head, value in numbers.items() if value is not None}
    if advice.trial is not None:
        mean = advice.trial.mean
        changes = {"kernel": mean.kernel_range, "squared gradient": mean.gradient_range}
        rows |= {
            f"largest mean {n} of a layer over the smallest": f"${number_text(v, _FACTORS)}$"
            for n, v in changes.items()
        }
    return rows
