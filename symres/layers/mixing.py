"""Nodes that mix positions: attention, convolution, pooling and token mixing.

What a node does to covariances is a rule of ``across``; each of them draws, but for the average over positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import sympy as sp
from sympy.core.symbol import Str

from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.scalars import Number, equation, number, scalar, whole
from ..core.symbols import C_W, C_b
from .across import UNLIKE, Attend, Mixed, Window
from .nodes import Dense, Drawn, Instructions, N, Net, Node, Scores

_POWERS = {"1/sqrt(d)": sp.S.Half, "1/d": sp.S.One}
_FEW_HEADS = (
    "leave it out: heads are many and wide; with few heads the branch is a mixture of Gaussians: kernels are right on "
    "average, laws are not"
)
_NO, _YES = sp.S.Zero, sp.S.One


class Attention(Drawn):
    """Softmax attention over all positions, with many wide heads and a dense layer behind them.

    Scores are ``q_a . k_b`` times the scale, of queries ``W_Q u + b_Q`` and keys ``W_K u`` of dimension d; every head
    weighs values ``W_V u + b_V`` with the softmax of its scores, and ``W_O`` and ``b_O`` act on all heads together.

    Args:
        u: what enters, an expression in the neurons.
        C_W: C_O*C_V, what a head and the layer behind it do to a variance together.
        C_b: Var(bias) behind the heads.
        C_Q: fan_in * Var(weight) of queries.
        C_K: the same of keys.
        scale: of scores, "1/sqrt(d)" or "1/d".
        C_bQ: Var(bias) of queries; biases of keys change nothing.
        C_bV: Var(bias) of values.
        C_O: fan_in * Var(weight) behind the heads, which matters for C_bV alone.
        tied: whether queries and keys have the same weights, of variance C_Q.
        keys: what keys and values are made of, where that is not u: cross-attention.
        tag: the identity of this draw; made by the call.

    Raises:
        DeclarationError: another scale; a negative variance; weights are tied, with scores over sqrt(d), or with keys
            of another stream.

    Examples:
        Attention to uncorrelated tokens whose scores vanish is their average:

        >>> theory = sr.layer("Attention(z, 1, 0, 0, 1)").derive()
        >>> theory.kernel_map.expr
        C + (-C + K)/T
    """

    argument_names = ("u", "C_W", "C_b", "C_Q", "C_K", "scale", "C_bQ", "C_bV", "C_O", "tied", "keys")
    elsewhere: ClassVar = {
        **dict.fromkeys(("mask", "rope", "is_causal", "causal"), UNLIKE),
        **dict.fromkeys(("heads", "num_heads", "n_heads", "d_head", "head_dim"), _FEW_HEADS),
    }
    settings: ClassVar = {
        **{"C_W": C_W, "C_b": C_b, "C_Q": _YES, "C_K": _YES, "scale": Str("1/sqrt(d)")},
        **{"C_bQ": _NO, "C_bV": _NO, "C_O": _YES, "tied": _NO, "keys": Str("u")},
    }

    def __new__(
        cls,
        u: Number,
        C_W: Number = C_W,
        C_b: Number = C_b,
        C_Q: Number = 1,
        C_K: Number = 1,
        scale: str | Str = "1/sqrt(d)",
        C_bQ: Number = 0,
        C_bV: Number = 0,
        C_O: Number = 1,
        tied: Number = False,
        keys: Number | Str | None = None,
        tag: sp.Dummy | None = None,
    ) -> Self:
        """A new draw; numbers may be int, float, str, Fraction or sympy."""
        if str(scale) not in _POWERS:
            remedy = f"pass one of {', '.join(_POWERS)}"
            raise DeclarationError(f"attention with the scale {scale}", "it is unknown", remedy)
        if tied and _POWERS[str(scale)] != 1:
            raise DeclarationError(
                "attention with tied queries and keys",
                "the score of a token with itself grows like the square root of d_head",
                'pass scale="1/d", for which it is exact',
            )
        numbers = {"C_W": C_W, "C_b": C_b, "C_Q": C_Q, "C_K": C_K, "C_bQ": C_bQ, "C_bV": C_bV, "C_O": C_O}
        values = {name: scalar(value, name) for name, value in numbers.items()}
        if negative := [name for name, value in values.items() if value.is_negative]:
            asked = f"attention with {negative[0]} = {values[negative[0]]}"
            raise DeclarationError(asked, "a variance is not negative", f"pass {negative[0]} >= 0")
        values |= {"scale": Str(str(scale)), "tied": sp.Integer(bool(tied))}
        is_self = keys is None or isinstance(keys, Str)
        if tied and not is_self:
            found = "their scores are covariances of two streams, which tokens of one do not have"
            raise DeclarationError("tied queries and keys of different streams", found, "pass tied=False")
        values["keys"] = Str("u") if is_self else equation(keys, "the keys of an Attention")
        return super().__new__(cls, u, *(values[name] for name in cls.settings), tag=tag)

    def of_equal_positions(self) -> Dense:
        """A dense layer; what attention adds to kernels and gradients is largest there."""
        of = dict(zip(self.argument_names, self.args, strict=False))
        values = of["u"] if isinstance(of["keys"], Str) else of["keys"]
        return Dense(values, of["C_W"], of["C_b"] + of["C_O"] * of["C_bV"])

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """One draw of the values, with the rule of attention."""
        of = dict(zip(self.settings, rest, strict=False))
        is_self = isinstance(of["keys"], Str)
        queries, power = None if is_self else u, _POWERS[str(of["scale"])]
        behind = of["C_O"] * of["C_bV"]
        rule = Attend(of["C_Q"], of["C_K"], of["C_bQ"], queries, power, bool(of["tied"]), behind)
        return program.draw(u if is_self else of["keys"], of["C_W"], of["C_b"] + behind, sp.S.One, rule)

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """Heads whose scores have passed a softmax, and a dense layer behind all of them."""
        of = dict(zip(self.settings, rest, strict=False))
        power, value_bias = float(_POWERS[str(of["scale"])]), of["C_O"] * of["C_bV"]
        scores = Scores(of["C_Q"], of["C_K"], of["C_bQ"], value_bias, power, bool(of["tied"]))
        keys: Any = u if isinstance(of["keys"], Str) else of["keys"]
        return net.attend(u, keys, of["C_W"], of["C_b"], scores)


class Conv(Drawn):
    """A convolution over positions: one that closes on itself, or with zeros beyond the edges of ``sr.Listed``.

    Args:
        u: what enters, an expression in the neurons.
        C_W: fan_in * Var(weight), fan_in being the number of channels times that of positions in the window.
        C_b: Var(bias).
        size: of the window along each axis; that of ``window`` where one is given.
        window: shares of the variance of weights, in proportion, of each position of the window: a list for every axis
            alike, or lists of lists for all axes; equal ones unless given.
        stride: the distance of places that are kept.
        tag: the identity of this draw; made by the call.

    Raises:
        DeclarationError: a window without numbers, with a negative one, or of another size.

    Examples:
        The covariance of two places is that of a dense layer, whatever the window:

        >>> sr.layer("Conv(z^3, 2, 0, 5)").derive().covariance_map.expr  # <z1^3 z2^3>
        6*C*(2*C**2 + 3*K**2)
    """

    argument_names = ("u", "C_W", "C_b", "size", "window", "stride")
    settings: ClassVar = {"C_W": C_W, "C_b": C_b, "size": sp.Integer(3), "window": sp.Tuple(), "stride": _YES}

    def __new__(
        cls,
        u: Number,
        C_W: Number = C_W,
        C_b: Number = C_b,
        size: Number | None = None,
        window: Sequence[Any] | sp.Tuple | None = None,
        stride: Number = 1,
        tag: sp.Dummy | None = None,
    ) -> Self:
        """A new draw; numbers may be int, float, str, Fraction or sympy."""
        shares = sp.Tuple() if window is None else _shares(window)
        wide = whole((len(shares) or 3) if size is None else size, "size", 1)
        flat, shapes = _flat(shares), _shapes(shares)
        is_square = not shapes or (len(shapes) == 1 and set(*shapes) == {wide})
        if not is_square or any(share < 0 for share in flat) or not any((*flat, not flat)):
            remedy = "pass numbers that are not negative, as many as size says along each axis"
            raise DeclarationError(f"a convolution with the window {shares}", f"its size is {wide}", remedy)
        places = (sp.Integer(wide), shares, sp.Integer(whole(stride, "stride", 1)))
        return super().__new__(cls, u, scalar(C_W, "C_W"), scalar(C_b, "C_b"), *places, tag=tag)

    def of_equal_positions(self) -> Dense:
        """A dense layer."""
        return Dense(*self.args[:3])

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """One draw, with a window of positions."""
        weight, bias, size, shares, stride, *_ = rest
        return program.draw(u, weight, bias, sp.S.One, Window(int(size), int(stride), shares))

    def sample(self, net: Net[N], u: N, *rest: Any) -> N:
        """A dense layer of its own for each place of the window, on a ring.

        Raises:
            UnsupportedLayer: the window has several axes, or places are left out.
        """
        weight, bias, size, shares, stride, *_ = rest
        parts = [float(share) for share in _flat(shares)] or [1.0] * int(size)
        if len(parts) != size or stride != 1:
            raise UnsupportedLayer(
                "a simulated convolution with several axes or a stride",
                "networks have a ring of positions",
                "check it with a window of one axis and stride=1",
            )
        total = sum(parts)
        first, *others = (
            net.dense(net.shifted(u, k), weight * part / total, 0.0 if k else bias, 1.0) for k, part in enumerate(parts)
        )
        return sum(others, first)


def _shares(window: Any) -> sp.Basic:
    """Nested numbers, exact."""
    is_list = isinstance(window, Iterable) and not isinstance(window, str)
    return sp.Tuple(*map(_shares, window)) if is_list else number(window, "a share of a window")


def _flat(shares: sp.Basic) -> list[sp.Expr]:
    return [e for part in shares for e in _flat(part)] if isinstance(shares, sp.Tuple) else [shares]


def _shapes(shares: sp.Basic) -> set[tuple[int, ...]]:
    """The lengths of the lists that each number stands in."""
    if not isinstance(shares, sp.Tuple):
        return {()}
    return {(len(shares), *inner) for part in shares for inner in _shapes(part)}


class TokenMix(Drawn):
    """A dense layer over positions, whose weights are those of all neurons alike (the first half of an MLP-Mixer).

    Args:
        u: what enters, an expression in the neurons.
        C_W: the number of positions times Var(weight).
        C_b: Var(bias).
        tag: the identity of this draw; made by the call.

    Examples:
        Many tokens without covariance stay so:

        >>> theory = sr.layer("z + TokenMix(z)").derive(positions=sr.Tokens("oo"))
        >>> theory.kernel_map.expr, theory.covariance_map.expr
        (C_W*K + K, 0)
    """

    argument_names = ("u", "C_W", "C_b")
    settings: ClassVar = {"C_W": C_W, "C_b": _NO}

    def __new__(cls, u: Number, C_W: Number = C_W, C_b: Number = 0, tag: sp.Dummy | None = None) -> Self:
        """A new draw; numbers may be int, float, str, Fraction or sympy."""
        return super().__new__(cls, u, scalar(C_W, "C_W"), scalar(C_b, "C_b"), tag=tag)

    def of_equal_positions(self) -> Dense:
        """A dense layer, for kernels: each neuron is multiplied by the sum of the weights."""
        return Dense(*self.args[:3])

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """One draw, with weights for positions."""
        return program.draw(u, rest[0], rest[1], sp.S.One, Mixed())

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """Weights from position to position."""
        return net.mix(u, rest[0], rest[1])


class Pool(Node):
    """The average over all positions.

    Of an expression that is linear in the neurons, or as the argument of a Dense.

    Examples:
        A readout of four tokens, ``<phi^2>`` of one and ``<phi phi'>`` of two averaged:

        >>> readout = sr.layer("Dense(Pool(z^2), 1, 0)").derive(positions=sr.Tokens(4))
        >>> readout.kernel_map.expr.expand()  # 3 K^2/4 + 3 (K^2 + 2 C^2)/4
        3*C**2/2 + 3*K**2/2
    """

    def of_equal_positions(self) -> sp.Expr:
        """What is averaged."""
        return self.args[0]

    def lower(self, program: Instructions, u: sp.Expr, *rest: sp.Expr) -> sp.Expr:
        """What the program makes of it."""
        return program.pool(u)

    def sample(self, net: Net[N], u: N, *rest: float) -> N:
        """The average, at all positions."""
        return net.pool(u)
