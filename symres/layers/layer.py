"""A layer as its user declares it: a forward equation, with its program and its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..activations.activation import Formula
from ..core.display import Fact, Shown
from ..core.errors import DeclarationError
from ..core.foreign import THEORIES, reader_of
from ..core.scalars import Number, equation, scalar
from ..core.symbols import z
from ..notation import latex
from ..notation.facts import Equations, in_line
from ..notation.facts import equation as fact
from .layouts import Axis
from .nodes import Node
from .program import Program, lower

_NEXT = sp.Symbol("z'")  # the next stream
_LONGEST = 100  # characters of an equation that is a name


@dataclass(frozen=True)
class Layer(Shown):
    """One layer of a deep network, as the equation of the next stream.

    Each application in a network draws weights of its own. Two layers are equal if their programs are.

    Args:
        forward: expression in ``sr.z`` (a neuron of the stream), scalars, activations and nodes, for instance
            ``gamma*z + Dense(phi(z))``.
        name: how the layer is called in text and files; its forward equation, unless something shorter is given.

    Attributes:
        program: the lowered form.
        equations: the forward equation as it is written, (left, right side): draws that stand in several places of it,
            with their names in the program, and last ``z'``.

    Raises:
        UnsupportedLayer: the next stream is not linear in Gaussian sources.
        DeclarationError: no ``z``, or a mix of widths.

    Examples:
        >>> phi = sr.activation("relu")
        >>> h = sr.Dense(sr.z, C_b=0)
        >>> shared = sr.Layer(sr.gamma*sr.z + sr.Dense(phi(h)*h, C_b=0))  # relu(h)*h, with one draw h
        >>> shared.text
        'gamma*z + Dense(y1*relu(y1), C_b=0), y1 = Dense(z, C_b=0)'
        >>> shared.derive().kernel_map.expr  # <relu(h)^2 h^2> = 3 S^2/2 with S = C_W K
        3*C_W**3*K**2/2 + K*gamma**2
    """

    forward: sp.Expr = field(compare=False)
    name: str = field(default="", compare=False)
    program: Program = field(init=False, repr=False)
    equations: Equations = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "forward", equation(self.forward, "the layer z'"))
        program, draws = lower(self.forward)
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "equations", _named(self.forward, draws))
        object.__setattr__(self, "name", self.name or self._own_name)

    def __hash__(self) -> int:
        return hash(self.program.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layer) and self.program == other.program

    def _title(self) -> str:
        return "layer" if self.name == self._own_name else f"layer {self.name}"

    def _facts(self) -> list[Fact]:
        return [fact(str(left), latex(left), right) for left, right in self.equations]

    def derive(self, positions: Axis | str | None = None) -> Any:
        """The theory of deep networks built from the layer, what ``sr.derive`` returns of it.

        Args:
            positions: in each input, such as ``sr.Tokens(16)``.

        Examples:
            >>> sr.layer("Dense(z^6)").derive().kernel_map.expr  # <z^12> = 10395 K^6
            10395*C_W*K**6 + C_b
        """
        return reader_of(THEORIES)(self, positions=positions)

    @property
    def text(self) -> str:
        """The forward equation on one line, such as ``Dense(phi(y1)*y1), y1 = Dense(z)``.

        Examples:
            >>> sr.pre_ln("tanh", gamma=1).text
            'z + Dense(tanh(LayerNorm(z)))'
        """
        return in_line(self.equations)

    @property
    def _own_name(self) -> str:
        """What a layer is called that was given no name."""
        return self.text if len(self.text) <= _LONGEST else "layer"

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The activations' formulas.

        Examples:
            >>> [formula.name for formula in sr.layer("Dense(sin(z) + relu6(z))").formulas]
            ['relu6', 'sin']
        """
        return self.program.formulas

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Every free symbol but the stream, by name.

        Examples:
            >>> sr.layer("gamma*z + xi*Dense(celu(z))").parameters
            (C_W, C_b, alpha, gamma, xi)
        """
        return tuple(sorted(self.forward.free_symbols - {z}, key=str))

    def subs(self, /, **values: Number) -> Layer:
        """The same layer with numbers or expressions in the place of parameters, by name.

        Raises:
            DeclarationError: no such parameter.

        Examples:
            >>> sr.residual("relu").subs(gamma=1, C_b=0).derive().kernel_map.expr
            C_W*K/2 + K
        """
        by_name = {str(p): p for p in self.parameters}
        unknown = sorted(set(values) - set(by_name))
        if unknown:
            raise DeclarationError(
                f"the layer {self.name}",
                f"it has no parameter {', '.join(unknown)}",
                f"its parameters are: {', '.join(by_name) or 'none'}",
            )
        numbers = {by_name[key]: scalar(value, key) for key, value in values.items()}
        for symbol, value in numbers.items():
            if symbol.is_nonnegative and value.is_negative:
                raise DeclarationError(
                    f"the layer {self.name}", f"{symbol} = {value} is negative", f"pass {symbol} >= 0, a variance"
                )
        return Layer(self.forward.subs(numbers), "" if self.name == self._own_name else self.name)


def _named(forward: sp.Expr, names: Mapping[sp.Expr, sp.Symbol]) -> Equations:
    """The forward equation as it can be written down: draws that it uses more than once, in order, and then ``z'``.

    ``Dense(phi(Dense(z))*Dense(z))`` reads as two independent dense layers; one that is used twice has a name,
    ``Dense(phi(y1)*y1), y1 = Dense(z)``.

    Args:
        forward: the forward equation.
        names: of every draw, as in the program.
    """
    uses: Counter[sp.Basic] = Counter()
    pending: list[sp.Basic] = [forward]
    while pending:
        e = pending.pop()
        if isinstance(e, Node) and any(isinstance(a, sp.Dummy) for a in e.args):  # it has an identity of its own
            uses[e] += 1
        if uses[e] <= 1:  # what is inside of a draw counts once
            pending += e.args
    shared = {draw: name for draw, name in names.items() if uses[draw] > 1}

    def written(e: sp.Expr) -> sp.Expr:
        return e.xreplace({draw: name for draw, name in shared.items() if draw != e})

    return (*((name, written(draw)) for draw, name in shared.items()), (_NEXT, written(forward)))
