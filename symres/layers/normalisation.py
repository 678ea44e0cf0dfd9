"""Nodes that normalise: they subtract an average and divide by a root mean square, of neurons or over a batch.

They are made of the averages that any node may ask for; programs have no instruction of their own for them.
"""

from __future__ import annotations

import sympy as sp
from sympy.printing.printer import Printer

from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.scalars import Number, scalar
from .nodes import Averaging, Instructions, N, Net
from .nodes import Node as Node  # sr.Node is taken from here: who declares a node knows the names of all nodes


class Normaliser(Node, abstract=True):
    """``(u - centre)/sqrt(variance + epsilon)``; a new normaliser says what its centre is.

    Learnable gains and shifts have their initial values, 1 and 0.

    Args:
        u: what is normalised, an expression in the neurons.
        epsilon: what is added to the variance, a nonnegative number or parameter.

    Raises:
        DeclarationError: epsilon is negative.
    """

    argument_names = ("u", "epsilon")

    def __new__(cls, u: Number, epsilon: Number = 0) -> Normaliser:
        """A node; numbers may be int, float, str, Fraction or sympy."""
        added = scalar(epsilon, "epsilon")
        if added.is_negative:
            raise DeclarationError(f"{cls.__name__} with epsilon = {added}", "it is negative", "pass epsilon >= 0")
        return super().__new__(cls, u, added)

    def centre(self, averages: Averaging[N], u: N) -> N | float:
        """What is subtracted from u.

        Args:
            averages: a program, for expressions, or a network, for arrays.
            u: what is normalised.
        """
        raise NotImplementedError(f"{type(self).__name__} must say what its centre is")

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """The centre and the variance as averages of the program."""
        apart = u - self.centre(program, u)
        variance = program.mean(apart**2) + rest[0]
        if variance == 0:
            raise UnsupportedLayer(
                f"the node {self}", "what it divides by is 0", "normalise something that varies between neurons"
            )
        return apart / sp.sqrt(variance)

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """The averages over the neurons, or the inputs, of this network."""
        apart = u - self.centre(net, u)
        return apart / (net.mean(apart * apart) + float(rest[0])) ** 0.5

    def _sympystr(self, printer: Printer) -> str:
        u, epsilon = map(printer._print, self.args)
        return f"{type(self).__name__}({u}{'' if self.args[1] == 0 else f', epsilon={epsilon}'})"

    def _latex(self, printer: Printer) -> str:
        u, epsilon = map(printer._print, self.args)
        below = "" if self.args[1] == 0 else rf"_{{\epsilon={epsilon}}}"
        return rf"\operatorname{{{type(self).__name__}}}{below}\left({u}\right)"


class LayerNorm(Normaliser):
    """Mean 0 and variance 1 over the neurons, for every input by itself (Doshi et al. (19)).

    Examples:
        >>> phi = sr.activation("cube")
        >>> sr.Layer(sr.Dense(phi(sr.LayerNorm(sr.z)))).derive().kernel_map.expr  # <z^6> = 15
        15*C_W + C_b
    """

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
