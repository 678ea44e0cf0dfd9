"""``st.gain``: the number by which the standard deviation of weights is scaled, for any activation."""

from __future__ import annotations

from ...activations.catalogue import Declared
from ...activations.catalogue import activation as declared
from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError
from ...core.scalars import Number
from ..activations.conversion import is_pointwise_module
from .conventions import CONVENTIONS, LINEAR_NAMES
from .gain_number import Gain
from .layer_averages import subject

__all__ = ["Gain", "gain", "require_convention"]


def gain(activation: Declared, convention: str = "critical", **parameters: Number) -> Gain:
    """The gain of an activation: weights of a layer with fan-in n are drawn with ``std = gain/sqrt(n)``.

    Args:
        activation: a PyTorch module (``torch.nn.GELU()``, a user's own), a function of one tensor, a name of the
            catalogue, a formula, or an Activation. Learnable parameters count with their present values. The names of
            linear maps that ``calculate_gain`` takes, such as "conv2d", mean "linear".
        convention: which condition the gain satisfies, in a multilayer perceptron of infinite width:

            - "critical": ``K' = K`` and both susceptibilities are 1 at the critical kernel (PDLT (B.19)); biases have
              variance ``C_b`` and inputs the mean square ``inputs_kernel``.
            - "forward": ``C_W <phi(z)^2> = 1`` at K = 1, which keeps the kernel there.
            - "backward": ``C_W <phi'(z)^2> = 1`` at K = 1, which keeps squared gradient norms there.
            - "centred": ``C_W (<phi(z)^2> - <phi(z)>^2) = 1`` at K = 1, which keeps the kernel there if the weights of
              each neuron add up to 0 over its inputs (weight standardisation, as in networks without norms).
            - "torch": what ``torch.nn.init.calculate_gain`` returns, judged by the other three; for activations that
              it does not have, what the rule of its entries for linear and relu gives.
        parameters: numbers for the parameters of a formula, by name.

    Returns:
        A float with ``why``, two sentences, and ``C_W``, ``C_b``, ``K``, ``inputs_kernel``, ``chi_perp``,
        ``chi_parallel`` and ``error``. Its averages are derived by symres and compared with a quadrature of the module
        itself in float64 (of the formula to 30 digits, if there is no module).

    Raises:
        DeclarationError: no such convention; an activation that cannot be read; a parameter without a number; or no
            such gain exists, for instance no critical point: the message says why and what to ask for instead.
        CheckRefuted: the check by quadrature failed.

    Examples:
        >>> round(st.gain(torch.nn.Hardtanh(), "backward"), 6)  # P(|z| < 1)^(-1/2)
        1.210287
        >>> round(st.gain("where(z > 0, z, z/7)") ** 2, 6)  # 2/(1 + 1/49)
        1.96
    """
    if not isinstance(convention, str):
        raise _no_word(activation, convention)
    require_convention(convention)
    named = "linear" if isinstance(activation, str) and activation in LINEAR_NAMES else activation
    return CONVENTIONS[convention](subject(named, parameters))


def _no_word(what: Declared, given: object) -> DeclarationError:
    """A number where the convention stands, as ``calculate_gain`` takes it: the parameter that it is meant for."""
    known = [] if is_pointwise_module(what) else declared(what).parameters
    call = f"gain({what!r}, {given!r})"
    found = f"the second argument is the convention, one of {', '.join(CONVENTIONS)}"
    if not known:
        return DeclarationError(call, found, "leave it out, or give a convention")
    return DeclarationError(call, found, f"give the parameter by its name: gain({what!r}, {known[0]}={given!r})")


def require_convention(name: str) -> None:
    """Refuse a name that is no convention.

    Raises:
        DeclarationError: it is none; the message has the nearest one.
    """
    if name not in CONVENTIONS:
        remedy = nearest(str(name), list(CONVENTIONS)) or f"use one of {', '.join(CONVENTIONS)}"
        raise DeclarationError(f"the convention {name!r:.40}", "unknown convention", remedy)
