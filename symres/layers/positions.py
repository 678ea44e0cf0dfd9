"""What positions a network has, as its user says it: ``sr.derive(layer, positions=sr.Tokens(16))``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

import sympy as sp

from ..core import symbols
from ..core.errors import DeclarationError
from ..core.scalars import scalar
from .across import UNLIKE
from .grids import Listed as Listed
from .grids import Torus as Torus
from .layouts import Axis, Exchangeable

USUAL_TOKENS = 16  # where somebody asks for numbers and names none


@dataclass(frozen=True, init=False)
class Tokens(Exchangeable):
    """Tokens of which any two are alike: a sequence without order.

    Args:
        size: their number, whole and positive; a parameter, T unless given; or oo.

    Raises:
        DeclarationError: it is not such a number; a mask or rotary embeddings, which tell tokens apart.

    Examples:
        >>> theory = sr.layer("Attention(z, 1, 0, 0, 1)").derive(positions=sr.Tokens(2))
        >>> theory.kernel_map.expr  # the average of two tokens
        C/2 + K/2
    """

    size: Any = symbols.T

    def __init__(self, size: Any = symbols.T, **unlike: Any) -> None:
        if unlike:
            raise DeclarationError(f"tokens with {', '.join(unlike)}", "they are alike, in any order", UNLIKE)
        size = sp.oo if size in (sp.oo, "oo") else scalar(size, "the number of tokens")
        if size.is_number and size is not sp.oo and not (size.is_Integer and size >= 1):
            remedy = "pass a whole number above 0, or sr.Tokens() for a parameter T"
            raise DeclarationError(f"{size} tokens", "that is not a number of tokens", remedy)
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        return f"Tokens({self.size})"


def positions_of(text: str) -> Axis:
    """Positions as text, such as ``Tokens(16)``, ``Tokens(oo)``, ``Torus(8, 8)`` or ``Listed(8, mask="causal")``.

    Raises:
        DeclarationError: it cannot be read.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        kind = _KINDS[ast.unparse(call.func)]
        options = {option.arg or "": _value(option.value) for option in call.keywords}
        arguments = signature(kind).bind(*map(_value, call.args), **options)
    except (SyntaxError, AssertionError, KeyError, TypeError):
        remedy = f"write {', '.join(_KINDS)} and numbers: Tokens(16), Torus(8, 8)"
        raise DeclarationError(f"the positions {text}", "they cannot be read", remedy) from None
    return kind(*arguments.args, **arguments.kwargs)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.List):
        return [_value(entry) for entry in node.elts]
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


_KINDS: Mapping[str, Callable[..., Axis]] = MappingProxyType({kind.__name__: kind for kind in (Tokens, Torus, Listed)})
