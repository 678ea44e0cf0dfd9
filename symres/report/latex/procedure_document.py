"""A procedure as a LaTeX document: its equations, the functions of one layer in them, and how these are derived."""

from __future__ import annotations

import re

from ...notation import Notation
from ...results.numbers.procedure import Procedure
from .displays import latex, typed
from .document import derivations, framed, sections
from .proof_appendix import Appendix
from .prose import prose

_FORMULA = re.compile(r"[*/^(]")


def procedure_document(procedure: Procedure, title: str, command: str) -> str:
    """The document.

    Args:
        procedure: a recursion or a search.
        title: the heading.
        command: the command that makes it again.
    """
    quantities = procedure.functions

    def shown(notation: Notation) -> dict[str, object]:
        appendix = Appendix(quantities, notation)
        return {
            "name": procedure.name,
            "functions": [q.name for q in quantities],
            "unknowns": [latex(s) for s in procedure.unknowns],
            "constants": procedure.constants,
            "quantities": sections(quantities, notation, appendix.uses),
            "source": prose(procedure.source),
            **derivations(appendix, quantities),
        }

    return framed("procedure.tex.j2", quantities, _heading(title, procedure), command, shown)


def _heading(title: str, procedure: Procedure) -> str:
    """A title without a full stop: what is computed, and of what; formulas as they were typed."""
    name, found, layer = title.rstrip(".").partition(" in the layer ")
    if not found:
        return prose(name)
    subject, place = (typed(part) if _FORMULA.search(part) else prose(part) for part in (name, layer))
    return f"{prose(procedure.meaning.capitalize())}: {subject}{found}{place}"
