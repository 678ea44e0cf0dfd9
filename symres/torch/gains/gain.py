"""``st.gain``: the number by which the standard deviation of weights is scaled, for any activation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from ...activations.activation import Activation
from ...activations.catalogue import Declared
from ...activations.catalogue import activation as declared
from ...activations.formula_parser import nearest
from ...core.errors import CheckRefuted, DeclarationError
from ...core.scalars import Number
from ...core.symbols import K as ANY_KERNEL
from ...core.symbols import z
from ...results.critical_point import CriticalPoint
from ...studies.criticality_summary import CLASSES, first_usable, stability, value
from ..activations.conversion import is_pointwise_module, known_formula
from .gain_number import Gain
from .layer_averages import GainSubject, LayerAverages, subject

_HOLDS = 1e-9  # how well a critical point satisfies its conditions
_EQUAL = 1e-9  # relative difference of two gains that are the same
__all__ = ["Gain", "gain", "require_convention"]


def _forward(subject: GainSubject) -> Gain:
    """``C_W <phi^2>_1 = 1``."""
    at = subject.averages(1.0)
    if not at.squared > 0:
        raise _none("forward", subject, "<phi(z)^2> is 0 at K = 1")
    C_W = 1 / at.squared
    reason = (
        f"C_W = 1/<phi(z)^2>_1 = {_g(C_W)} and C_b = 0 keep the kernel at K = 1 from layer to layer, so the gain is "
        f"sqrt(C_W) = {_g(math.sqrt(C_W))}. {_effects(C_W, at)}."
    )
    return _made(subject, "forward", C_W, 0.0, at, reason)


def _backward(subject: GainSubject) -> Gain:
    """``C_W <phi'^2>_1 = 1``."""
    at = subject.averages(1.0)
    if not 0 < at.slope < math.inf:
        why = "infinite" if at.slope == math.inf else "0" if at.slope == 0 else "not known"
        raise _none("backward", subject, f"<phi'(z)^2> at K = 1 is {why}")
    C_W = 1 / at.slope
    factor = C_W * at.squared
    kept = f"A layer takes the kernel 1 to C_W <phi(z)^2>_1 = {_g(factor)}"
    if abs(factor - 1) <= _EQUAL:
        kept = "It keeps the kernel too, C_W <phi(z)^2>_1 = 1"
    reason = (
        f"C_W = 1/<phi'(z)^2>_1 = {_g(C_W)} makes chi_perp = 1 at K = 1, which keeps squared gradient norms from layer "
        f"to layer there, so the gain is sqrt(C_W) = {_g(math.sqrt(C_W))}. "
        f"{kept}, and the condition holds only as long as the kernel is 1."
    )
    return _made(subject, "backward", C_W, 0.0, at, reason)


def _centred(subject: GainSubject) -> Gain:
    """``C_W (<phi^2>_1 - <phi>_1^2) = 1``: weights that add up to 0 do not see the mean of what enters."""
    at = subject.averages(1.0, is_centred=True)
    if not at.squared > 0:
        raise _none("centred", subject, "the variance of phi(z) is 0 at K = 1")
    C_W = 1 / at.squared
    reason = (
        f"Weights that add up to 0 over the inputs of each neuron see the variance <phi(z)^2>_1 - <phi(z)>_1^2 = "
        f"{_g(at.squared)} alone, so C_W = {_g(C_W)} and C_b = 0 keep the kernel at K = 1, and the gain is sqrt(C_W) = "
        f"{_g(math.sqrt(C_W))}. {_effects(C_W, at)}."
    )
    return _made(subject, "centred", C_W, 0.0, at, reason)


def _critical(subject: GainSubject) -> Gain:
    """``K' = K`` and ``chi_perp = chi_parallel = 1`` (PDLT (B.19))."""
    theory = subject.theory
    point = first_usable(theory.critical_points)
    if point is None:
        reason = "; ".join(theory.remarks) or CLASSES.get(theory.universality_class, theory.universality_class)
        raise _none("critical", subject, f"no C_W and C_b make a kernel critical ({reason})")
    if point.stability == "unstable":
        raise _none("critical", subject, f"the critical point is unstable, kernels flow away from K = {point.K}")
    numbers = [value(point.C_W), value(point.C_b), value(point.K) if point.K != ANY_KERNEL else 1]
    C_W, C_b, K = (float(number) for number in numbers if number is not None)
    at = subject.averages(K)
    gradient, kernel, slope = C_W * at.slope, C_b + C_W * at.squared, C_W * at.growth
    misses = (gradient - 1, slope - 1, (kernel - K) / max(K, C_b, 1e-3))
    if not all(abs(miss) <= _HOLDS for miss in misses):  # the point, from averages that met the quadrature
        raise CheckRefuted(
            f"the critical gain of {subject.activation.name}",
            f"at K = {K:.6g} the next kernel is {kernel:.12g}, chi_perp {gradient:.12g}, chi_parallel {slope:.12g}",
            "please report it: no gain is returned that fails its check",
        )
    rule = f"C_W = 1/<phi'(z)^2>_{_g(K)} = {_g(C_W)} and C_b = {_g(C_b)} make both susceptibilities 1"
    where, then = _place(point, C_W, C_b, K)
    why = f"{rule} at {where}, so the gain is sqrt(C_W) = {_g(math.sqrt(C_W))}. {then}."
    return _made(subject, "critical", C_W, C_b, at, why, point.stability)


def _place(point: CriticalPoint, C_W: float, C_b: float, K: float) -> tuple[str, str]:
    """Where a point is critical, and what that means for the inputs."""
    if point.K == ANY_KERNEL:
        return "every kernel", "Neither kernels nor gradients grow or shrink, whatever the scale of the inputs"
    stays = f"the point is {stability(point)}"
    if not K:
        decays = ", from which the kernel decays more slowly than exponentially" * (point.stability == "stable")
        return "the kernel K = 0", f"Inputs need a small mean square{decays}, and {stays}"
    needed = f"Inputs need the mean square (K - C_b)/C_W = {_g((K - C_b) / C_W)}"
    if point.stability == "half-stable":
        stays += "; for deep networks ask theory.advice(depth=..., width=...) or st.init_(model), which try networks"
    return f"the kernel K = {_g(K)} = C_b + C_W <phi(z)^2>_K", f"{needed}, and {stays}"


def _torch(subject: GainSubject) -> Gain:
    """What PyTorch's table returns; the rule of its right entries for what it has not."""
    entry, forward, at = table_entry(subject.activation), _forward(subject), subject.averages(1.0)
    if entry is None:
        rule = (
            f"torch.nn.init.calculate_gain has no entry for {subject.activation.name} and raises an error; the rule "
            f"that its entries for linear, relu and leaky_relu follow, C_W <phi(z)^2>_1 = 1, gives {_g(forward)}"
        )
        return _made(subject, "torch", forward.C_W, 0.0, at, f"{rule}. {_effects(forward.C_W, at)}.")
    call, number = entry
    C_W = number**2
    factors = f"C_W <phi(z)^2>_1 = {_g(C_W * at.squared)}", f"C_W <phi'(z)^2>_1 = {_g(C_W * at.slope)}"
    does = (
        f"torch.nn.init.{call} is {_g(number)}, so C_W = {_g(C_W)}, and at K = 1 a layer multiplies the kernel by "
        f"{factors[0]} and squared gradient norms by {factors[1]}"
    )
    return _made(subject, "torch", C_W, 0.0, at, f"{does}. {_judged(subject, number, forward)}.", table=number)


def _judged(subject: GainSubject, number: float, forward: Gain) -> str:
    """Whether an entry of the table is one of the derived gains."""
    derived = {"forward": forward, "backward": _backward(subject)}
    try:
        derived["critical"] = _critical(subject)
        critical = f"the critical gain is {_g(derived['critical'])} at K = {_g(derived['critical'].K)}"
    except DeclarationError as error:
        critical = f"there is no critical gain: {error.found}"
    same = [name for name, gain in derived.items() if abs(gain - number) <= _EQUAL * number]
    if len(same) == 3:
        return "It is right: symres derives the same number as the forward, backward and critical gain"
    lead = f"It is the {same[0]} gain only" if same else "It is none of the gains that symres derives"
    kept = f"1/sqrt(<phi(z)^2>_1) = {_g(forward)} keeps the kernel at K = 1"
    return f"{lead}: {kept}, 1/sqrt(<phi'(z)^2>_1) = {_g(derived['backward'])} keeps gradients there, and {critical}"


CONVENTIONS: Mapping[str, Callable[[GainSubject], Gain]] = MappingProxyType(
    {"critical": _critical, "forward": _forward, "backward": _backward, "centred": _centred, "torch": _torch}
)


def _made(
    subject: GainSubject,
    convention: str,
    C_W: float,
    C_b: float,
    at: LayerAverages,
    why: str,
    kept: str = "",
    table: float | None = None,
) -> Gain:
    """The gain, with what a layer of such weights does to kernels and gradients at the kernel of the averages."""
    number = math.sqrt(C_W) if table is None else table
    kernels = (at.K, C_b + C_W * at.squared, C_W * at.slope, C_W * at.growth, max(0.0, (at.K - C_b) / C_W))
    error = 0.0 if table is not None else number * at.deviation / 2
    return Gain(number, convention, subject.activation.name, C_W, C_b, *kernels, kept, error, why)


def _none(convention: str, subject: GainSubject, found: str) -> DeclarationError:
    others = " or ".join(f"convention={name!r}" for name in ("critical", "forward", "backward") if name != convention)
    return DeclarationError(f"the {convention} gain of {subject.activation.name}", found, f"ask for {others}")


def _effects(C_W: float, at: LayerAverages) -> str:
    """What a gain that keeps the kernel at K = 1 does to gradients, and to kernels near it."""
    chi_perp, chi_parallel = C_W * at.slope, C_W * at.growth
    gradients = f"Each layer multiplies squared gradient norms by chi_perp = C_W <phi'(z)^2>_1 = {_g(chi_perp)}"
    if math.isnan(chi_perp):
        gradients = "Its effect on gradients is unknown"
    elif math.isinf(chi_perp):
        gradients = "Gradients have no finite mean square, since the activation jumps or is too steep"
    elif abs(chi_perp - 1) <= _EQUAL:
        gradients = "It keeps squared gradient norms too, chi_perp = C_W <phi'(z)^2>_1 = 1"
    nearby = f"are {'repelled' if abs(chi_parallel) > 1 else 'attracted'}, chi_parallel = {_g(chi_parallel)}"
    if math.isnan(chi_parallel):
        nearby = "behave in an unknown way"
    elif abs(chi_parallel - 1) <= _EQUAL:
        nearby = "are neither attracted nor repelled, chi_parallel = 1"
    return f"{gradients}, and kernels near K = 1 {nearby}"


def _g(number: float) -> str:
    return f"{float(number):.9g}"


LINEAR_NAMES = frozenset(f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3))  # maps, to PyTorch
_ENTRIES = ("linear", "sigmoid", "tanh", "relu", "selu")


def table_entry(phi: Activation) -> tuple[str, float] | None:
    """The call of ``calculate_gain`` for an activation, and what it returns; None if the table has no such entry.

    Args:
        phi: without free parameters.
    """
    entry = known_formula(phi, ()) or phi
    if entry.name in _ENTRIES:
        return f"calculate_gain({entry.name!r})", float(torch.nn.init.calculate_gain(entry.name))
    if entry.formula.label()[0] == "leaky_relu":
        slope = float(-entry.expr.subs(z, -1))
        return f"calculate_gain('leaky_relu', {slope:g})", float(torch.nn.init.calculate_gain("leaky_relu", slope))
    return None


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
        # a number where the convention stands, as calculate_gain takes it: the parameter that it is meant for
        names = [] if is_pointwise_module(activation) else declared(activation).parameters
        remedy = "leave it out, or give a convention"
        if names:
            remedy = f"give the parameter by its name: gain({activation!r}, {names[0]}={convention!r})"
        said = f"the second argument is the convention, one of {', '.join(CONVENTIONS)}"
        raise DeclarationError(f"gain({activation!r}, {convention!r})", said, remedy)
    require_convention(convention)
    named = "linear" if isinstance(activation, str) and activation in LINEAR_NAMES else activation
    return CONVENTIONS[convention](subject(named, parameters))


def require_convention(name: str) -> None:
    """Refuse a name that is no convention.

    Raises:
        DeclarationError: it is none; the message has the nearest one.
    """
    if name not in CONVENTIONS:
        remedy = nearest(str(name), list(CONVENTIONS)) or f"use one of {', '.join(CONVENTIONS)}"
        raise DeclarationError(f"the convention {name!r:.40}", "unknown convention", remedy)
