"""A gain: a number that knows its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class GainFacts:
    """What is known of a gain.

    Args:
        convention: "critical", "forward", "backward" or "torch".
        activation: its name.
        C_W: fan-in times the variance of a weight, the square of the gain.
        C_b: variance of a bias.
        K: the kernel (mean square of a preactivation) at which the convention's condition holds.
        next_kernel: the kernel after a layer, ``C_b + C_W <phi(z)^2>_K``.
        chi_perp: ``C_W <phi'(z)^2>_K``, the factor of squared gradient norms in a layer (Doshi et al. (9)).
        chi_parallel: the slope of the next kernel in K; above 1, kernels near a fixed point leave it.
        inputs_kernel: mean square of the inputs for which the first layer has the kernel K, ``(K - C_b)/C_W``.
        stability: of a critical point; empty for other conventions.
        error: of the gain: its difference from an independent quadrature, with that one's own error; 0 for an entry
            of PyTorch's table.
        why: two sentences with the formula.
    """

    convention: str
    activation: str
    C_W: float
    C_b: float
    K: float
    next_kernel: float
    chi_perp: float
    chi_parallel: float
    inputs_kernel: float
    stability: str
    error: float
    why: str


class Gain(float):
    """The factor in ``std = gain/sqrt(fan_in)`` of weights, a float with its reason.

    Args:
        value: the number.
        facts: what is known of it; each is an attribute.
    """

    __slots__ = ("_facts",)

    def __new__(cls, value: float, facts: GainFacts) -> Gain:
        """Make the number."""
        self = super().__new__(cls, value)
        object.__setattr__(self, "_facts", facts)
        return self

    def __getnewargs__(self) -> tuple[float, GainFacts]:  # type: ignore[override]
        return float(self), self.facts

    def __getstate__(self) -> None:
        return None  # all of it is in the arguments

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a gain cannot be changed: ask for another gain")

    def __str__(self) -> str:
        return f"{float(self):.9g}"

    def __repr__(self) -> str:
        return f"Gain({float(self)!r}, {self.facts.convention!r}, {self.facts.activation!r})"

    @property
    def facts(self) -> GainFacts:
        """All that is known of the gain."""
        facts: GainFacts = object.__getattribute__(self, "_facts")
        return facts

    @property
    def why(self) -> str:
        """Where the number comes from and what it does, in two sentences."""
        return self.facts.why

    @property
    def convention(self) -> str:
        """The convention: "critical", "forward", "backward" or "torch"."""
        return self.facts.convention

    @property
    def C_W(self) -> float:
        """Fan-in times the variance of a weight, the square of the gain."""
        return self.facts.C_W

    @property
    def C_b(self) -> float:
        """Variance of a bias."""
        return self.facts.C_b

    @property
    def K(self) -> float:
        """The kernel at which the convention's condition holds."""
        return self.facts.K

    @property
    def chi_perp(self) -> float:
        """The factor of squared gradient norms in a layer at K."""
        return self.facts.chi_perp

    @property
    def chi_parallel(self) -> float:
        """The slope of the next kernel at K."""
        return self.facts.chi_parallel

    @property
    def inputs_kernel(self) -> float:
        """Mean square of the inputs for which the first layer, with the same C_W and C_b, has the kernel K."""
        return self.facts.inputs_kernel

    @property
    def stability(self) -> str:
        """Of a critical point: "neutral", "stable", "half-stable" or "marginal"; empty for other conventions."""
        return self.facts.stability

    @property
    def error(self) -> float:
        """Of the gain, by an independent quadrature."""
        return self.facts.error
