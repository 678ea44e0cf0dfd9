"""What becomes of tokens in a deep stack of one layer, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenRow:
    """The stream after some layers.

    Args:
        layers: how many.
        kernel: of a token.
        similarity: the cosine of two tokens.
        apjn: the squared derivatives of a token in all of those of the first stream.
    """

    layers: int
    kernel: float
    similarity: float
    apjn: float


@dataclass(frozen=True)
class StackOfTokens:
    """A deep stack of one layer, of tokens that have kernel 1 and nothing in common at first.

    Args:
        tokens: in each input.
        is_usual: whether nobody said how many.
        rows: after some layers, the first of which is the start.
        kind: "power law", in the depth l; or "exponential", in the number of layers; empty where laws are not known.
        similarity: to which it tends.
        gradient: the APJN goes like ``l**gradient`` or ``exp(gradient*l)``.
        angle: so does the distance of similarities from their end.
        collapse: so does 1 - rho of tokens that are nearly equal: positive where these come apart.
        ends: similarities that stay, each with whether it is stable.
    """

    tokens: int
    is_usual: bool
    rows: tuple[TokenRow, ...]
    kind: str = ""
    similarity: float = float("nan")
    gradient: float = float("nan")
    angle: float = float("nan")
    collapse: float = float("nan")
    ends: tuple[tuple[float, bool], ...] = ()

    @property
    def collapses(self) -> bool:
        """Whether all tokens become equal."""
        return self.similarity == 1

    def law(self, exponent: float) -> str:
        """A power of l, or an exponential, as text."""
        return f"l^{exponent:.3g}" if self.kind == "power law" else f"exp({exponent:.3g}*l)"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Will tokens collapse, and do gradients explode: for somebody who initialises such a stack."""
        last = self.rows[-1]
        if not self.kind:
            return ()
        if self.collapses:
            fate = f"Tokens become equal: 1 - rho falls like {self.law(self.angle)}"
        else:
            fate = f"Tokens stay apart: their similarity tends to {self.similarity:.4g}, like {self.law(self.angle)}"
        apart = f"; after {last.layers} layers it is {1 - last.similarity:.3g}." if self.collapses else "."
        near = "come apart" if self.collapse > 0 else "become more alike"
        others = [f"{end:.4g}" for end, is_stable in self.ends if is_stable and end != self.similarity]
        basins = [f"The end depends on the inputs: similarity {', '.join(others)} attracts, too."] * bool(others)
        grow = "grow" if self.gradient > 0 else "fall"
        return (
            fate + apart,
            f"Tokens that are nearly equal {near}.",
            *basins,
            f"Squared gradients of a token {grow} like {self.law(self.gradient)}: by {last.apjn:.4g} over "
            f"{last.layers} layers.",
        )
