"""The source of a network in C."""

from __future__ import annotations

from ...planning.network_plan import NetworkPlan
from ...scalar.descriptions import SERIES, head_lines, network_lines, parameter_lines, units_and_errors
from ...scalar.scalar_target import parts_of_network
from ...wording import docstrings
from .text import TITLE, source

ABOUT = (
    "Functions of double and, with the letter f at the end of their name, of float. The int that they return is 0, or "
    "1 if memory ran out: then C and Theta are not results. Matrices are row-major: the entry of row i and column j is "
    "at i*columns + j. Each parameter is an array of one number for every layer.",
    f"{docstrings.PARAMETRISATION} {docstrings.INPUTS}.",
    "Functions of float are for kernels of order 1: those below 1e-18 count as 0, powers of large ones overflow, in "
    "some layers from 1e9 on. Functions of double hold for all kernels in the range of double.",
)
MATRIX = (
    "K1, K2: kernels of the inputs of rows and of columns; >= 0, else nan.",
    "symmetric: 1 if rows and columns are the same inputs, so that half of the matrices is computed; 0 else.",
    "blank: 1 if Theta need not be read, as it is 0 before the first layer; 0 else.",
    "C: before the call the covariances x.x'/n0 of all pairs of inputs, on the diagonal of a symmetric matrix K1; "
    "replaced by those after the network.",
    "Theta: before the call the tangent kernels of the inputs, unless blank is 1; replaced by those after the network.",
)
ENTRIES = (
    "K1, K2: kernels of the inputs of each pair; >= 0, else nan.",
    "C, Theta: before the call the covariances x.x'/n0 and the tangent kernels of the inputs, which are 0 where no "
    "trained layer comes before; replaced by those after the network.",
    "every_C, every_Theta: those after each layer, one layer after the other; may be NULL.",
)


def network_text(plan: NetworkPlan) -> str:
    """The source of a network."""
    parts = parts_of_network(plan)
    about = [*ABOUT, *([SERIES] if parts.series else []), units_and_errors(plan.components, TITLE)]
    head = {
        "title": plan.title,
        "command": plan.command,
        "about": [*network_lines(plan), "", *head_lines(about, (), 3)],
        "prefix": plan.prefix,
        "depth": sum(count for _, count in plan.runs),
    }
    documented = {
        name: (f"{name}: {meaning}", [*(line for text in texts for line in docstrings.wrapped(text, 3, 4)), *own])
        for own in [parameter_lines(plan, "an array, one for each layer")]
        for name, meaning, texts in (
            ("dual_kernel_matrix", "kernel and tangent kernel of all pairs of inputs.", MATRIX),
            ("dual_kernel", "kernel and tangent kernel of pairs of inputs.", ENTRIES),
        )
    }
    return source(head, documented, parts, plan.parameters)
