"""A network as a LaTeX document: the maps of its distinct layers, and which layers are of that kind."""

from __future__ import annotations

from itertools import groupby

from ...codegen.planning.network_plan import maps_of
from ...core import files
from ...notation import Notation, has_decimals
from ...results.subjects import DerivedNetwork
from .displays import display, escape
from .document import formulas_of, sections
from .prose import PDLT, verbatim


def recursion(network: DerivedNetwork, title: str, command: str) -> str:
    """The document.

    Args:
        network: ``layers`` are theories, equal ones the same.
        title: the heading.
        command: the command that makes it again.
    """
    layers = network.layers
    distinct = list(dict.fromkeys(layers))
    quantities = [maps_of(layer) for layer in distinct]
    formulas = sorted(formulas_of(q.definition for row in quantities for q in row), key=str)
    notation = Notation(decimals=has_decimals(*(f.expr for f in formulas)))
    runs, count = [], 0
    for layer, equal in groupby(layers):
        first, count = count + 1, count + len(list(equal))
        runs.append((layer, f"{first}" if first == count else f"{first} to {count}"))
    return files.render(
        "network.tex.j2",
        {
            "title": escape(title),
            "command": verbatim(command),
            "runs": [{"places": places, "name": escape(layer.layer.name)} for layer, places in runs],
            "formulas": [display(f"{notation.write(f)}(z)", f.expr, notation=notation) for f in formulas],
            "layers": [
                {
                    "places": _placed([places for other, places in runs if other == layer]),
                    "name": escape(layer.layer.name),
                    "quantities": sections(row, notation, {}),
                }
                for layer, row in zip(distinct, quantities, strict=True)
            ],
            "reference": escape(PDLT),
        },
    )


def _placed(places: list[str]) -> str:
    one = len(places) == 1 and places[0].isdigit()
    return f"{'Layer' if one else 'Layers'} {', '.join(places)}"
