"""A procedure as a LaTeX document: its equations, the functions of one layer in them, and how these are derived."""

from __future__ import annotations

import re

from ...core import files
from ...notation import Notation, has_decimals
from ...results.numbers.procedure import Procedure
from .displays import display, escape, latex, typed
from .document import derivations, formulas_of, sections
from .proof_appendix import Appendix
from .prose import PDLT, prose, verbatim

_FORMULA = re.compile(r"[*/^(]")


def procedure_document(procedure: Procedure, title: str, command: str) -> str:
    """The document.

    Args:
        procedure: a recursion or a search.
        title: the heading.
        command: the command that makes it again.
    """
    quantities = procedure.functions
    formulas = sorted(formulas_of(q.definition for q in quantities), key=str)
    notation = Notation(decimals=has_decimals(*(f.expr for f in formulas)))
    appendix = Appendix(quantities, notation)
    return files.render(
        "procedure.tex.j2",
        {
            "name": procedure.name,
            "title": _heading(title, procedure),
            "functions": [q.name for q in quantities],
            "unknowns": [latex(s) for s in procedure.unknowns],
            "constants": procedure.constants,
            "formulas": [display(f"{notation.write(f)}(z)", f.expr, notation=notation) for f in formulas],
            "quantities": sections(quantities, notation, appendix.uses),
            "source": prose(procedure.source),
            "command": verbatim(command),
            "reference": escape(PDLT),
            **derivations(appendix, quantities),
        },
    )


def _heading(title: str, procedure: Procedure) -> str:
    """A title without a full stop: what is computed, and of what; formulas as they were typed."""
    name, found, layer = title.rstrip(".").partition(" in the layer ")
    if not found:
        return prose(name)
    subject, place = (typed(part) if _FORMULA.search(part) else prose(part) for part in (name, layer))
    return f"{prose(procedure.meaning.capitalize())}: {subject}{found}{place}"
