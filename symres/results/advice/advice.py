"""Advice on initialisation, for one depth and one width, in numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...core.display import Fact, Shown
from ...core.words import counted
from .parts import (
    DIGITS,
    FACTOR,
    MARGIN,
    OFF,
    LearningRate,
    Origin,
    Path,
    Suggestion,
    TokenEnd,
    Topic,
    Trial,
    UsualScheme,
)

_SHORT = 4  # digits of what is measured
_LITTLE = 0.001  # percent
_OF_EQUAL = " whose positions are all equal"
_FLAT = 0.005  # a power of the depth that is 0 to two decimals
_SOURCE = {
    Origin.POINT: "This is the critical point: a layer keeps the kernel, and both susceptibilities are 1.",
    Origin.LINE: "This lies on the critical line: a layer keeps the kernel, and chi_perp is 1.",
    Origin.SEARCH: "No critical setting that was tried keeps kernels and gradients at this depth; this one changes "
    "them least.",
    Origin.GIVEN: "The variances of weights were given; inputs, and biases where they are free, were chosen for them.",
}


def digits(value: float, count: int = DIGITS) -> str:
    """A number with so many significant digits, as Python and people read it."""
    return f"{value:.{count}g}"


def told(advice: Advice) -> tuple[tuple[Topic, str], ...]:
    """What to draw, or why nothing is advised; how to scale the inputs; how it was tried; what else there is."""
    if advice.wanted:
        names = " and ".join(f"{name} (--set {name}=...)" for name in advice.wanted)
        return ((Topic.OPEN, f"Give {names} a number."),)
    if advice.origin is None or advice.trial is None:
        return ((Topic.OPEN, f"No advice: {advice.remark}."),)
    reasons = [(Topic.DRAW, _draw(advice) if advice.holds else _fails(advice))]
    reasons += [(Topic.SOURCE, _source(advice, advice.origin))] if advice.holds else []
    if advice.optimal:
        ratio = digits(advice.depth / advice.width, 2)
        made = f"gamma = {digits(advice.parameters['gamma'])} makes depth/width = {ratio} the optimal aspect ratio."
        reasons.append((Topic.ASPECT_RATIO, made))
    reasons += _inputs(advice) if advice.holds else []
    reasons.append((Topic.TRIAL, _tried(advice, advice.trial)))
    if advice.drift is not None and advice.holds and not advice.any_scale:
        reasons.append((Topic.DRIFT, _drift(advice, advice.drift)))
    if advice.fluctuation is not None and advice.holds:
        reasons.append((Topic.SCATTER, _scatter(advice.fluctuation)))
    if advice.learning_rate is not None and advice.holds:
        reasons.append((Topic.LEARNING_RATE, _rate(advice.learning_rate)))
    reasons += [(Topic.TOKENS, _end(end)) for end in advice.token_ends if not end.scheme]
    if advice.nearest is not None:
        reasons.append((Topic.NEAREST, _nearest(advice.nearest)))
    return (*reasons, *((Topic.SCHEMES, text) for text in _fixed(advice.usual)))


def _source(advice: Advice, origin: Origin) -> str:
    if origin is Origin.POINT and advice.theory is not None and advice.theory.range > 1 + _LITTLE:
        return "These are the variances of a critical point K* = 0, near which a layer changes small kernels little."
    if origin is Origin.POINT and not advice.any_scale and advice.kernel is not None:
        kept = f"a layer keeps the kernel {digits(advice.kernel)}"
        return f"This is the critical point: {kept}, and both susceptibilities are 1 there."
    if origin is Origin.BRANCH:
        sentence = "branches of this weight change the kernel and the squared gradient by factors of about 2 at most."
        return f"Over {counted(advice.depth, 'layer')}, {sentence}"
    return _SOURCE[origin] + (_off_the_lines(advice) if origin is Origin.SEARCH else "")


def _off_the_lines(advice: Advice) -> str:
    """That a setting is not critical, by what its first layer does; empty where that keeps both, or nobody knows."""
    if advice.theory is None or len(advice.theory.kernels) < 2:
        return ""
    (first, second, *_), (before, after, *_) = advice.theory.kernels, advice.theory.jacobians
    kernel, gradient = digits(second / first, _SHORT), digits(after / before, _SHORT)
    if kernel == gradient == "1":
        return ""
    does = f"the first layer multiplies the kernel by {kernel} and the squared gradient by {gradient}"
    return f" It is not critical: at infinite width, {does}."


def _draw(advice: Advice) -> str:
    if advice.last:
        return _draw_last(advice)
    if advice.origin is Origin.GIVEN or advice.C_W is None or advice.C_b is None:
        return f"Networks of {_layers(advice)} with these variances keep kernels and gradients."
    chosen = [f"{name} = {digits(value)}" for name, value in advice.parameters.items()]
    with_ = f"With {' and '.join(chosen)}, draw" if chosen else "Draw"
    biases = "set biases to zero" if advice.C_b == 0 else f"biases with variance C_b = {digits(advice.C_b)}"
    return f"{with_} weights with variance C_W/fan_in, C_W = {digits(advice.C_W)}, and {biases}."


def _draw_last(advice: Advice) -> str:
    """Of layers of tokens: the variances of what is added to the stream, and the others."""
    last = " = ".join([*advice.last, digits(advice.parameters[advice.last[0]])])
    others = [f"{name} = {digits(value)}" for name, value in advice.parameters.items() if name not in advice.last]
    inside = f", others with {' and '.join(others)}" if others else ""
    return f"Draw the last weights of branches with variance C/fan_in, {last}{inside}."


def _end(end: TokenEnd) -> str:
    """What becomes of tokens."""
    kernel, cosine, gradient = (digits(value, _SHORT) for value in (end.kernel, end.similarity, end.gradient))
    said = (
        f"Behind them, {end.tokens} tokens of kernel 1 with nothing in common have the kernel {kernel} and the cosine "
        f"{cosine}; the squared gradient of all tokens moved alike is {gradient}."
    )
    if not end.crowding:
        return said
    return (
        f"{said} Caution: these are many tokens for this width. Any two overlap by about n^(-1/2), which changes what "
        f"attention adds to kernels by {100 * end.crowding:.2g} % at first order; the joint limit is not known."
    )


def _fails(advice: Advice) -> str:
    """What holds on average over networks, if anything does, and what does not hold in single ones."""
    numbers = {"C_W": advice.C_W, "C_b": advice.C_b, **advice.parameters}
    is_known = advice.C_W is not None and advice.C_b is not None
    setting = ", ".join(f"{name} = {digits(value)}" for name, value in numbers.items() if value is not None)
    if advice.trial is not None and advice.trial.holds_on_average:
        said = (
            f"On average over networks of {_layers(advice)}, {setting if is_known else 'these variances'} keep kernels "
            f"and squared gradients within a factor of {MARGIN:g}. Single networks scatter more: in half of them one "
            f"of the two changes by a factor of {digits(advice.trial.typical, 2)} or more."
        )
        better = "" if advice.origin is Origin.GIVEN else "No setting that was tried does better; w"
        return f"{said} {better or 'W'}ider networks scatter less."
    said = (
        f"Every setting that was tried changes kernels or squared gradients in networks of {_layers(advice)} by more "
        f"than a factor of {MARGIN:g} on average over networks, or of {FACTOR:g} in half of them."
    )
    return f"{said} The setting that comes closest is {setting}." if is_known else said


def _layers(advice: Advice) -> str:
    return f"{counted(advice.depth, 'layer')} and width {advice.width}"


def _inputs(advice: Advice) -> list[tuple[Topic, str]]:
    if advice.kernel is None:
        return []
    if advice.any_scale:
        return [(Topic.INPUTS, "Inputs may have any scale: all kernels change by the same factor.")]
    if advice.inputs_kernel is None or advice.C_W is None or advice.C_b is None:
        said = f"Scale the inputs so that the first preactivations have variance {digits(advice.kernel)}."
        return [(Topic.SCALING, said)]
    mean_square, wanted = advice.given_inputs, digits(advice.inputs_kernel)
    if mean_square is not None and math.isclose(mean_square, advice.inputs_kernel, rel_tol=1e-6):
        return [(Topic.INPUTS, f"Inputs of mean square {digits(mean_square, _SHORT)} may stay as they are.")]
    scaled = f"so that their mean square is {wanted}"
    if mean_square is not None:
        scaled = f"by {digits(math.sqrt(advice.inputs_kernel / mean_square))}: their mean square has to be {wanted}"
    first = f"a first dense layer with the same C_W and C_b then has kernel {digits(advice.kernel)}"
    reasons = [(Topic.SCALING, f"Scale the inputs {scaled}; {first}.")]
    if advice.kernel > advice.C_b:
        alone = digits((advice.kernel - advice.C_b) / (mean_square or 1.0))
        of_ = digits(mean_square or 1.0, _SHORT)
        said = f"Or leave inputs of mean square {of_} as they are, and draw the first layer alone with C_W = {alone}."
        reasons.append((Topic.SCALING, said))
    return reasons


def _tried(advice: Advice, trial: Trial) -> str:
    kernel, gradient = (_ratio(r) for r in (trial.mean.kernel_range, trial.mean.gradient_range))
    networks = f"{trial.networks} networks of {_layers(advice)}{_OF_EQUAL * bool(advice.last)}"
    averages = (
        f"Tried in {networks}: averaged over them, the largest kernel of a layer "
        f"is {kernel} times the smallest, the largest squared gradient {gradient} times the smallest"
    )
    if trial.leaving:
        return (
            f"{averages}; in {trial.leaving} of the {trial.networks} networks one of these ratios is above {FACTOR:g}."
        )
    return f"{averages}; in every single network both ratios are at most {FACTOR:g}."


def _ratio(ratio: float) -> str:
    return "more than a million" if ratio > 1e6 else digits(ratio, 3)


def _drift(advice: Advice, drift: float) -> str:
    percent = 100 * abs(drift)
    change = f"{digits(percent, 2)} %" if percent >= _LITTLE else f"less than {_LITTLE:g} %"
    larger = f"{100 * (OFF - 1):.0f} % larger than advised"
    return f"If the first kernel is {larger}, layer {advice.depth} changes the kernel by {change}, at infinite width."


def _scatter(fluctuation: float) -> str:
    percent = 100 * fluctuation
    if percent < _LITTLE:
        return "The kernel of the last layer is the same in all networks (finite-width theory, to order 1/n)."
    return (
        f"From network to network the kernel of the last layer has a standard deviation of {_rounded(percent)} % of "
        "its mean (finite-width theory, to order 1/n)."
    )


def _rate(rate: LearningRate) -> str:
    power = f"{rate.exponent:.2g}"
    text = f"The tangent kernel is {digits(rate.tangent_kernel, _SHORT)} at this depth and"
    if abs(rate.exponent) < _FLAT:
        text += " does not change with the depth;"
    else:
        grows = "in proportion to the depth" if power == "1" else f"like depth^{power}"
        text += f" {'grows' if rate.exponent > 0 else 'changes'} {grows};"
    return (
        f"{text} the largest learning rate of gradient descent is inversely proportional to this kernel. In PyTorch's "
        "parametrisation that rate is inversely proportional to the width too, and so is Adam's for hidden weights."
    )


def _nearest(layer: Suggestion) -> str:
    chosen = "".join(f", {name} = {digits(value)}" for name, value in layer.parameters.items())
    return (
        f"The nearest layer that keeps kernels and gradients is z' = {layer.forward}, with C_W = {digits(layer.C_W)}, "
        f"C_b = {digits(layer.C_b)}{chosen} and first preactivations of variance {digits(layer.kernel)}."
    )


def _fixed(usual: tuple[UsualScheme, ...]) -> list[str]:
    """Which customary schemes keep K = 1."""
    sentences = []
    for s in usual:
        if s.fixed is not None:
            slopes = f"chi_parallel = {digits(s.fixed[0], _SHORT)} and chi_perp = {digits(s.fixed[1], _SHORT)}"
            sentences.append(f"{s.name} variances keep K = 1 in every layer, a fixed point with {slopes}.")
    return sentences


def _rounded(factor: float) -> str:
    """Two digits: 1400, 0.0029, 2e-24."""
    return "-" if math.isnan(factor) else f"{float(f'{factor:.2g}'):g}"


@dataclass(frozen=True, repr=False)
class Advice(Shown):
    """The variances to draw and the scale of the inputs, tried in networks of this depth and width, with reasons.

    Args:
        depth: number of layers.
        width: of the stream.
        holds: whether kernels and squared gradients of drawn networks stay within a factor of 5 over the depth: those
            averaged over the networks with a margin (a factor of 4), and those of half of the single networks.
        C_W: fan-in times the variance of a weight; None where nothing could be tried.
        C_b: variance of a bias.
        parameters: numbers chosen for the other free parameters of the layer: gamma, xi, by name.
        kernel: of the first preactivations, K^0.
        inputs_kernel: mean square of the inputs, for a read-in Dense with the same C_W and C_b: (K^0 - C_b)/C_W.
        origin: where the numbers come from.
        theory: kernels and Jacobians along the depth at infinite width.
        trial: how the networks fared that were drawn.
        fluctuation: relative standard deviation of the mean square of the last stream over networks,
            sqrt((V + 2 K^2)/n)/K, of the finite-width theory; None where that is not known.
        any_scale: whether networks treat inputs of all scales alike.
        optimal: whether gamma is the weight for which depth/width is the optimal aspect ratio.
        drift: relative change of the kernel in the last layer, at infinite width, where the first is 10 % larger.
        learning_rate: None for layers that average over a batch.
        usual: what customary schemes do, for comparison.
        nearest: where nothing holds, a layer near it for which something does.
        wanted: names of parameters that need numbers first.
        given_inputs: the mean square of the inputs that was asked for, if any.
        remark: why nothing was tried.
        last: of layers of tokens, names of the variances of weights whose outputs are added to the stream.
        token_ends: what becomes of tokens with the advised variances, and with customary ones.

    Examples:
        >>> advice = sr.derive("abs").advice(depth=10, width=100)
        >>> advice.holds, advice.C_W, advice.C_b, advice.inputs_kernel
        (True, 1.0, 0.0, 1.0)
        >>> round(advice.fluctuation, 6)  # sqrt((V + 2)/width), with V = 20
        0.469042
    """

    depth: int
    width: int
    holds: bool
    C_W: float | None = None
    C_b: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    kernel: float | None = None
    inputs_kernel: float | None = None
    origin: Origin | None = None
    theory: Path | None = None
    trial: Trial | None = None
    fluctuation: float | None = None
    any_scale: bool = False
    optimal: bool = False
    drift: float | None = None
    learning_rate: LearningRate | None = None
    usual: tuple[UsualScheme, ...] = ()
    nearest: Suggestion | None = None
    wanted: tuple[str, ...] = ()
    given_inputs: float | None = None
    remark: str = ""
    last: tuple[str, ...] = ()
    token_ends: tuple[TokenEnd, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What to draw, how to scale inputs and how networks fared, in words; names of symbols as programs write them.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).reasons[1]
            'This is the critical point: a layer keeps the kernel, and both susceptibilities are 1.'
        """
        return self.reasons_but()

    def reasons_but(self, *topics: Topic) -> tuple[str, ...]:
        """The reasons without those about some topics.

        Examples:
            >>> from symres.results.advice.parts import Topic
            >>> len(sr.derive("abs").advice(depth=10, width=100).reasons_but(*Topic))
            0
        """
        return tuple(text for topic, text in told(self) if topic not in topics)

    @property
    def code(self) -> tuple[str, ...]:
        """The lines for PyTorch, for one linear layer m; empty where nothing holds.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).code[0]
            'torch.nn.init.normal_(m.weight, std=(1/m.in_features)**0.5)'
        """
        if self.C_W is None or self.C_b is None or not self.holds:
            return ()
        weight, bias = (digits(value) for value in (self.C_W, self.C_b))
        zero = self.C_b == 0
        drawn = "torch.nn.init.zeros_(m.bias)" if zero else f"torch.nn.init.normal_(m.bias, std={bias}**0.5)"
        return (f"torch.nn.init.normal_(m.weight, std=({weight}/m.in_features)**0.5)", drawn)

    @property
    def schemes_title(self) -> str:
        """What ``schemes`` shows; empty where C_W and C_b are not both free.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).schemes_title.partition(": ")[2]
            'factors by which all layers change kernel and squared gradient, at infinite width'
        """
        if self.token_ends:
            return f"Usual schemes, and what they make of these {self.token_ends[0].tokens} tokens"
        if not self.usual:
            return ""
        others = "".join(f", at {name} = {digits(value)}" for name, value in self.usual[0].others.items())
        of_ = "factors by which all layers change kernel and squared gradient, at infinite width"
        return f"Usual schemes, for inputs of mean square 1{others}: {of_}"

    @property
    def scheme_heads(self) -> tuple[str, ...]:
        """The heads of the columns of ``schemes``.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).scheme_heads
            ('scheme', 'C_W', 'kernel', 'squared gradient')
        """
        if self.token_ends:
            return "scheme", "kernel", "cosine", "squared gradient"
        return "scheme", "C_W", "kernel", "squared gradient"

    @property
    def schemes(self) -> list[tuple[str, ...]]:
        """Rows of customary schemes under ``scheme_heads``, factors on kernel and squared gradient; "-" beyond numbers.

        Examples:
            Ten layers of ``|z|`` at ``C_W = 2`` multiply kernels and squared gradients by ``2^10``:

            >>> sr.derive("abs").advice(depth=10, width=100).schemes[-1]
            ("He's", '2', '1000', '1000')
        """
        if self.token_ends:
            ends = [(end.scheme, end.kernel, end.similarity, end.gradient) for end in self.token_ends if end.scheme]
            return [(name, *(digits(value, 3) for value in values)) for name, *values in ends]
        return [(s.name, digits(s.C_W, 3), _rounded(s.kernel_ratio), _rounded(s.gradient_ratio)) for s in self.usual]

    @property
    def outcome(self) -> str:
        """What became of it, in words behind a title; empty where networks keep kernels and gradients.

        Examples:
            >>> sr.derive("abs").advice(depth=10, width=100).outcome
            ''
        """
        if self.holds:
            return ""
        if self.wanted:
            return f": {' and '.join(self.wanted)} {'needs a number' if len(self.wanted) == 1 else 'need numbers'}"
        if self.trial is None:
            return ": nothing could be tried"
        if self.trial.holds_on_average:
            single = f"{self.trial.leaving} of {self.trial.networks} single networks"
            return f": kernels and squared gradients are kept on average over networks, but not in {single}"
        return ": every setting that was tried fails"

    def _title(self) -> str:
        return f"advice for {counted(self.depth, 'layer')} of width {self.width}{self.outcome}"

    def _facts(self) -> Iterable[Fact]:
        numbers = {"C_W": self.C_W, "C_b": self.C_b, **self.parameters, "inputs_kernel": self.inputs_kernel}
        shown = [Fact(name, digits(v)) for name, v in numbers.items() if v is not None]
        heads = self.scheme_heads[1:]
        rows = [f"{name}: {', '.join(map(' '.join, zip(heads, row, strict=True)))}" for name, *row in self.schemes]
        schemes = [Fact(self.schemes_title, "; ".join(rows))] if rows else []
        return [*shown, *(Fact("", text) for text in self.reasons), *schemes]
