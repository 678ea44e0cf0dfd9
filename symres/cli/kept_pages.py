"""Pages that a command has printed before: kept in the cache, by the declaration and all that they show.

A page is kept only if nothing but symres and sympy computes it: a program may declare nodes and observables of its own,
whose code no key describes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sympy as sp

from ..activations.activation import Activation
from ..core.disk_cache import ACTIVE, Key
from ..layers.layer import Layer
from ..report.text.console import Line, Output, Span

_OWN = ("symres.", "sympy.")
_CATALOGUE = "symres.theory.observables.registry"  # takes longer to load than a page that is kept


@dataclass(frozen=True)
class KeptPage:
    """What a command prints and its exit code."""

    lines: list[Line]  # of text
    code: int = 0  # 0, or 1 where a check refutes a result


def recalled(subject: Key | None, compute: Callable[[], KeptPage]) -> KeptPage:
    """The page of a subject, from the cache in use or computed.

    Without a subject its code is not only symres': it is not kept.
    """
    cache = ACTIVE.get()
    if cache is None or subject is None:
        return compute()

    def written() -> str:
        page = compute()
        lines = [[[span.text, span.style] for span in line] for line in page.lines]
        return json.dumps({"code": page.code, "lines": lines})

    stored = json.loads(cache.recall(subject, "page", written))  # a checksum says that it is what was written
    shown: list[Line] = [tuple(Span(text, style) for text, style in line) for line in stored["lines"]]
    return KeptPage(shown, int(stored["code"]))


def is_kept(subject: Key | None) -> bool:
    """Whether the page of a subject is in the cache in use."""
    cache = ACTIVE.get()
    return cache is not None and subject is not None and cache.has(subject, "page")


def layer_key(layer: Layer) -> Key | None:
    """A layer in words that say all of it; None if it is not of symres' own nodes, or there are further observables."""
    loaded = sys.modules.get(_CATALOGUE)  # a catalogue that nobody has loaded nobody has changed
    records = () if loaded is None else loaded.observables.values()
    functions = [value for record in records for value in vars(record).values() if callable(value)]
    used = [*functions, *map(type, sp.preorder_traversal(layer.forward)), *_types(f.expr for f in layer.formulas)]
    if not all(str(what.__module__).startswith(_OWN) for what in used):
        return None
    return (
        layer.name,
        layer.text,
        layer.program.text,
        sp.srepr(layer.parameters),
        *(sp.srepr((f.expr, f.parameters)) for f in layer.formulas),
    )


def activation_key(phi: Activation) -> Key | None:
    """An activation in words that say all of it; None if a function in it is not of symres or sympy."""
    if not all(str(t.__module__).startswith(_OWN) for t in _types([phi.expr])):
        return None
    return (phi.name, sp.srepr((phi.expr, phi.parameters)))


def look(output: Output) -> Key:
    """What the text of a page depends on besides its subject."""
    return (str(output.width), str(output.unicode))


def _types(formulas: Iterable[sp.Expr]) -> list[type]:
    return [type(node) for e in formulas for node in sp.preorder_traversal(e)]
