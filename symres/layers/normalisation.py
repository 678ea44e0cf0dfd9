"""Nodes that normalise: they subtract an average and divide by a root mean square, of neurons or over a batch.

They are made of the averages that any node may ask for; programs have no instruction of their own for them.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Self

import sympy as sp
from sympy.core.symbol import Str
from sympy.printing.printer import Printer

from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.scalars import Number, equation, scalar
from .nodes import Averaging, Instructions, N, Net
from .nodes import Node as Node  # sr.Node is taken from here: who declares a node knows the names of all nodes

_OVER = ("neurons", "positions")


class Normaliser(Node, abstract=True):
    """``(u - centre)/sqrt(variance + epsilon)``; a new normaliser says what its centre is.

    Learnable gains and shifts have their initial values, 1 and 0.

    Args:
        u: what is normalised, an expression in the neurons.
        epsilon: what is added to the variance, a nonnegative number or parameter.

    Raises:
        DeclarationError: epsilon is negative.
    """

    argument_names: ClassVar[tuple[str, ...]] = ("u", "epsilon")

    def __new__(cls, u: Number, epsilon: Number = 0) -> Normaliser:
        """A node; numbers may be int, float, str, Fraction or sympy."""
        return cls._made(u, epsilon)

    @classmethod
    def _made(cls, u: Number, epsilon: Number, *more: sp.Basic) -> Self:
        added = scalar(epsilon, "epsilon")
        if added.is_negative:
            raise DeclarationError(f"{cls.__name__} with epsilon = {added}", "it is negative", "pass epsilon >= 0")
        return sp.Expr.__new__(cls, equation(u, f"the argument of a {cls.__name__}"), added, *more)

    def centre(self, averages: Averaging[N], u: N) -> N | float:
        """What is subtracted from u.

        Args:
            averages: a program, for expressions, or a network, for arrays.
            u: what is normalised.
        """
        raise NotImplementedError(f"{type(self).__name__} must say what its centre is")

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """The centre and the variance as averages of the program."""
        averages = _OverPositions(program) if self._over == "positions" else program
        apart = u - self.centre(averages, u)
        variance = averages.mean(apart**2) + rest[0]
        if variance == 0:
            raise UnsupportedLayer(
                f"the node {self}", "what it divides by is 0", "normalise something that varies between neurons"
            )
        return apart / sp.sqrt(variance)

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """The averages over the neurons, or the inputs, of this network."""
        averages = _Pooled(net) if self._over == "positions" else net
        apart = u - self.centre(averages, u)
        return apart / (averages.mean(apart * apart) + float(rest[0])) ** 0.5

    @property
    def _over(self) -> str:
        """What is averaged over: the neurons, or those of all positions."""
        return str(self.args[2]) if len(self.args) > 2 else "neurons"

    def _marks(self, printer: Printer, epsilon: str) -> list[str]:
        """What differs from the shortest text."""
        added = [f"{epsilon}={printer._print(self.args[1])}"] * (self.args[1] != 0)
        return [*added, *["positions"] * (self._over == "positions")]

    def _sympystr(self, printer: Printer) -> str:
        return f"{type(self).__name__}({', '.join([printer._print(self.args[0]), *self._marks(printer, 'epsilon')])})"

    def _latex(self, printer: Printer) -> str:
        marks = ", ".join(self._marks(printer, r"\epsilon")).replace("positions", r"\mathrm{positions}")
        below = f"_{{{marks}}}" if marks else ""
        return rf"\operatorname{{{type(self).__name__}}}{below}\left({printer._print(self.args[0])}\right)"


class _OverPositions:
    """The averages of a program over neurons of all positions.

    Args:
        program: whose averages they are.
    """

    def __init__(self, program: Instructions) -> None:
        self._program = program

    def mean(self, u: sp.Expr, /) -> sp.Expr:
        """Average over the neurons of all positions."""
        return self._program.mean(u, "position")

    def batch(self, u: sp.Expr, /) -> sp.Expr:
        """Average over the inputs of a large batch."""
        return self._program.batch(u)


class _Pooled(Generic[N]):
    """The averages of a network over neurons of all positions.

    Args:
        net: whose averages they are.
    """

    def __init__(self, net: Net[N]) -> None:
        self._net = net

    def mean(self, u: N, /) -> N:
        """Average over the neurons of all positions."""
        return self._net.pool(self._net.mean(u))

    def batch(self, u: N, /) -> N:
        """Average over the inputs of a batch."""
        return self._net.batch(u)


class LayerNorm(Normaliser):
    """Mean 0 and variance 1 over the neurons, for every input by itself (Doshi et al. (19)).

    Args:
        u: what is normalised, an expression in the neurons.
        epsilon: what is added to the variance, a nonnegative number or parameter.
        over: "neurons", at each position by itself; or "positions", over the neurons of all positions.

    Raises:
        DeclarationError: epsilon is negative, or another word.

    Examples:
        >>> phi = sr.activation("cube")
        >>> sr.Layer(sr.Dense(phi(sr.LayerNorm(sr.z)))).derive().kernel_map.expr  # <z^6> = 15
        15*C_W + C_b
    """

    argument_names = ("u", "epsilon", "over")
    words: ClassVar = {"positions": "over"}

    def __new__(cls, u: Number, epsilon: Number = 0, over: str | sp.Basic = "neurons") -> LayerNorm:
        """A node; numbers may be int, float, str, Fraction or sympy."""
        if str(over) not in _OVER:
            found, remedy = "it is unknown", f"pass over as one of {', '.join(_OVER)}"
            raise DeclarationError(f"a LayerNorm over {over}", found, remedy)
        return cls._made(u, epsilon, Str(str(over)))

    def of_equal_positions(self) -> LayerNorm:
        """The norm at each position."""
        return LayerNorm(*self.args[:2])

    def centre(self, averages: Averaging[N], u: N) -> N | float:
        """The average over the neurons."""
        return averages.mean(u)


class RMSNorm(Normaliser):
    """Mean square 1 over the neurons, for every input by itself; nothing is subtracted.

    Examples:
        It keeps a mean, which LayerNorm takes away; ReLU has the mean square K/2:

        >>> sr.layer("Dense(RMSNorm(relu(z)))").derive().chi_perp.expr
        C_W/K
    """

    def centre(self, averages: Averaging[N], u: N) -> N | float:
        """Nothing."""
        return 0


class BatchNorm(Normaliser):
    """Mean 0 and variance 1 over a large batch of exchangeable inputs, for every neuron (Doshi et al. (23)).

    All inputs have one kernel K and all pairs one covariance C. At infinite width the variance over the batch is the
    same for every neuron, so it is also the average over the neurons.

    Examples:
        >>> sr.layer("Dense(abs(BatchNorm(z)))").derive().chi_perp.expr  # K - C is the variance over the batch
        -C_W/(C - K)
    """

    def centre(self, averages: Averaging[N], u: N) -> N | float:
        """The average over the batch."""
        return averages.batch(u)
