"""A network as a LaTeX document: the maps of its distinct layers, and which layers are of that kind."""

from __future__ import annotations

from itertools import chain, groupby

from ...codegen.planning.network_plan import maps_of
from ...notation import Notation
from ...results.subjects import DerivedNetwork
from .displays import escape
from .document import framed, sections


def recursion(network: DerivedNetwork, title: str, command: str) -> str:
    """The document.

    Args:
        network: ``layers`` are theories, equal ones the same.
        title: the heading.
        command: the command that makes it again.
    """
    distinct = {layer: maps_of(layer) for layer in network.layers}
    runs, count = [], 0
    for layer, equal in groupby(network.layers):
        first, count = count + 1, count + len(list(equal))
        runs.append((layer, f"{first}" if first == count else f"{first} to {count}"))

    def shown(notation: Notation) -> dict[str, object]:
        return {
            "runs": [{"places": places, "name": escape(layer.layer.name)} for layer, places in runs],
            "layers": [
                {
                    "places": _placed([places for other, places in runs if other == layer]),
                    "name": escape(layer.layer.name),
                    "quantities": sections(maps, notation, {}),
                }
                for layer, maps in distinct.items()
            ],
        }

    return framed("network.tex.j2", chain(*distinct.values()), escape(title), command, shown)


def _placed(places: list[str]) -> str:
    one = len(places) == 1 and places[0].isdigit()
    return f"{'Layer' if one else 'Layers'} {', '.join(places)}"
