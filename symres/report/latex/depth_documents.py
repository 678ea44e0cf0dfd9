"""Deep networks as LaTeX documents.

A network: the maps of its distinct layers, and which layers are of that kind. A procedure: its equations, the functions
of one layer in them, and how these are derived.
"""

from __future__ import annotations

import re
from itertools import chain, groupby

from ...codegen.planning.network_plan import maps_of
from ...notation import Notation
from ...results.observable import Procedure
from ...results.subjects import DerivedNetwork
from .displays import escape, latex, typed
from .document import derivations, framed, sections
from .proof_appendix import Appendix
from .prose import prose

_FORMULA = re.compile(r"[*/^(]")


def recursion(network: DerivedNetwork, title: str, command: str) -> str:
    """The document about a network of layers, of which equal ones are told once, and the command that makes it."""
    distinct = {layer: maps_of(layer) for layer in network.layers}
    runs, count = [], 0
    for layer, equal in groupby(network.layers):
        first, count = count + 1, count + len(list(equal))
        runs.append((layer, f"{first}" if first == count else f"{first} to {count}"))

    def placed(layer: object) -> str:
        places = [place for other, place in runs if other == layer]
        is_one = len(places) == 1 and places[0].isdigit()
        return f"{'Layer' if is_one else 'Layers'} {', '.join(places)}"

    def shown(notation: Notation) -> dict[str, object]:
        return {
            "runs": [{"places": places, "name": escape(layer.layer.name)} for layer, places in runs],
            "layers": [
                {"places": placed(layer), "name": escape(layer.layer.name), "quantities": sections(maps, notation, {})}
                for layer, maps in distinct.items()
            ],
        }

    return framed("network.tex.j2", chain(*distinct.values()), escape(title), command, shown)


def procedure_document(procedure: Procedure, title: str, command: str) -> str:
    """The document about a recursion or a search, and the command that makes it again."""
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

    # a title without a full stop: what is computed, and of what; formulas as they were typed
    name, separator, layer = title.rstrip(".").partition(" in the layer ")
    heading = prose(name)
    if separator:
        subject, place = (typed(part) if _FORMULA.search(part) else prose(part) for part in (name, layer))
        heading = f"{prose(procedure.meaning.capitalize())}: {subject}{separator}{place}"
    return framed("procedure.tex.j2", quantities, heading, command, shown)
