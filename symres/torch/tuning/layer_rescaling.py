"""Layers without skip connections are rescaled one after the other, each on what the rescaled ones before it give.

With weights times s and biases times t the output of a layer is ``s W a + t b``. Its kernel is ``s^2 A + 2 s t B +
t^2 D`` with A, B, D the mean squares and product of ``W a`` and ``b``, and its squared Jacobian norm from the output of
the layer before is ``s^2 chi``. Both are known for all s and t from one measurement: nothing has to be iterated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError
from ...results.annotated_numbers import EstimatedNumber
from ..measuring.averaging import average
from ..models.arguments_of_models import CallArguments
from ..models.observing import hooked
from ..models.structures import first_tensor, with_first_tensor
from ..probing.network_passes import counts_inputs, mean_products
from .batch_errors import InputSubset, at_least, jacobian_probes, left_out_in_turn, with_batch_errors
from .gradient_passes import Additions, NonFinitePlace, finite_numbers, run_with_gradients
from .tuning_report import TunedLayer, TuningPhase, TuningPlan, TuningTarget


@dataclass(frozen=True)
class LayerSample:
    """Measurements of one layer with output ``W a + b``.

    Args:
        weighted: A, mean square of ``W a`` of each input, shape (inputs,).
        mixed: B, mean product of ``W a`` and ``b``.
        bias: D, mean square of ``b``.
        chi: squared norm of the Jacobian from the output of the layer before per neuron, shape (inputs, probes); None
            at the first layer.
    """

    weighted: np.ndarray
    mixed: np.ndarray
    bias: np.ndarray
    chi: np.ndarray | None

    def kernel(self, s: float, t: float) -> EstimatedNumber:
        """With weights times s and biases times t."""
        return average((s * s * self.weighted + 2 * s * t * self.mixed + t * t * self.bias)[None])

    def norm(self, s: float) -> EstimatedNumber:
        """The squared norm chi with weights times s; nan at the first layer."""
        return EstimatedNumber(math.nan, math.nan) if self.chi is None else average((s * s * self.chi)[None])


def parts_of_output(
    layer: nn.Module, args: tuple[object, ...], kwargs: Mapping[str, object], output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``W a`` and ``b``: what the weight and what the bias give to the output, without graphs.

    Args:
        layer: it is run once more, with a bias of 0.
        args: of its call.
        kwargs: likewise.
        output: of its call.
    """
    bias = layer._parameters.get("bias")
    present = output.detach().clone()
    if bias is None:
        return present, torch.zeros_like(present)
    with torch.no_grad():
        data = bias.data
        try:
            bias.data = torch.zeros_like(data)
            weighted = first_tensor(layer(*args, **kwargs))
        finally:
            bias.data = data
    assert weighted is not None
    return weighted.detach().clone(), present - weighted.detach()


@dataclass(frozen=True, kw_only=True)
class LayerPlan(TuningPlan):
    """What is done with every layer; ``kernel`` is that of every one of them, None: of the first layer as it is."""

    kernel: float | None


@dataclass(frozen=True)
class LayerChange:
    """What is to be done with one layer of the model itself: factors of its weight and of its bias."""

    name: str
    module: nn.Module
    weight: EstimatedNumber
    bias: EstimatedNumber

    def apply(self, model: nn.Module) -> nn.Module:
        """Multiply, in place; returns the model."""
        for name, factor in (("weight", self.weight), ("bias", self.bias)):
            parameter = self.module._parameters.get(name)
            if parameter is not None:
                with torch.no_grad():
                    parameter.mul_(float(factor))
        return model


def rescaled_layers(
    model: nn.Module, layers: Mapping[str, nn.Module], arguments: CallArguments, plan: LayerPlan
) -> tuple[list[LayerChange], list[TunedLayer]]:
    """Rescale the copies of the weights that ``kept`` made, and measure before and after.

    Args:
        model: prepared by ``kept``.
        layers: by name: modules with a weight and perhaps a bias.
        arguments: the inputs.
        plan: what is done.

    Returns:
        What is to be done with the model itself, and a row of the report, for each layer in the order of execution.

    Raises:
        DeclarationError: a layer cannot be rescaled; it is named.
    """
    _check(model, layers)
    changes: dict[str, LayerChange] = {}
    kernel = plan.kernel
    factor = plan.growth ** (1 / max(len(layers) - 1, 1))

    def tune(name: str, sample: LayerSample) -> tuple[float, float]:
        nonlocal kernel
        if kernel is None and plan.target is not TuningTarget.GRADIENT:
            kernel = float(sample.kernel(1, 1))
        weight, bias = _factors(name, sample, plan.target, kernel, factor)
        changes[name] = LayerChange(name, layers[name], weight, bias)
        changes[name].apply(model)
        return float(weight), float(bias)

    subsets = (None, *left_out_in_turn(model, arguments.size))

    def measured(phase: TuningPhase) -> list[dict[str, LayerSample]]:
        return [_pass(model, layers, arguments, plan, phase, subset=subset) for subset in subsets]

    with finite_numbers(model, arguments, "the rescaling of"):
        before = measured(TuningPhase.BEFORE)
        tuning = _pass(model, layers, arguments, plan, TuningPhase.TUNING, tune)
        after = measured(TuningPhase.AFTER)
    if missing := [name for name in layers if name not in after[0]]:
        raise DeclarationError(
            f"the rescaling of {missing[0]}", "it is not called in a pass of the model", "choose other layers"
        )
    rows = []
    for name in after[0]:
        change = changes[name]
        old, _ = with_batch_errors(_numbers, [each[name] for each in before])
        new, (_, chi_error) = with_batch_errors(_numbers, [each[name] for each in after])
        chi_tuned = tuning[name].norm(float(change.weight))
        wider = float(np.fmax(chi_error / chi_tuned.error, 1)) if plan.target is not TuningTarget.SIZE else 1.0
        rows.append(
            TunedLayer(
                name=name,
                weight_factor=EstimatedNumber(float(change.weight), change.weight.error * wider),
                bias_factor=change.bias,
                kernel_before=old[0],
                kernel_after=new[0],
                chi_before=old[1],
                chi_after=new[1],
                chi_tuned=at_least(chi_tuned, chi_error),
            )
        )
    return list(changes.values()), rows


def _numbers(sample: LayerSample) -> tuple[EstimatedNumber, EstimatedNumber]:
    return sample.kernel(1, 1), sample.norm(1)


def _check(model: nn.Module, layers: Mapping[str, nn.Module]) -> None:
    for name, layer in layers.items():
        weight = layer._parameters.get("weight")
        if weight is None or weight.ndim < 2:
            raise DeclarationError(
                f"the rescaling of {name} ({type(layer).__name__})",
                "it has no matrix of weights of its own",
                "choose dense or convolutional layers",
            )
        if sum(any(p is weight for p in module._parameters.values()) for module in model.modules()) > 1:
            raise DeclarationError(
                f"the rescaling of {name}", "another module has the same weight", "choose other layers"
            )


def _pass(
    model: nn.Module,
    layers: Mapping[str, nn.Module],
    arguments: CallArguments,
    plan: LayerPlan,
    phase: TuningPhase,
    action: Callable[[str, LayerSample], tuple[float, float]] = lambda name, sample: (1.0, 1.0),
    subset: InputSubset | None = None,
) -> dict[str, LayerSample]:
    """One pass; the action gives the factors of weight and bias with which the signal goes on."""
    arguments = arguments if subset is None else arguments.some(subset.kept)
    found: dict[str, LayerSample] = {}
    last: list[tuple[str, torch.Tensor]] = []
    busy = False

    def leaving(
        name: str, layer: nn.Module, args: tuple[object, ...], kwargs: Mapping[str, object], output: object
    ) -> object:
        nonlocal busy
        tensor = first_tensor(output)
        if busy or tensor is None:
            return None
        _usable(name, name in found, tensor, arguments.size)
        sources = plan.sources(phase, len(found), subset)
        busy = True
        try:
            weighted, bias = parts_of_output(layer, args, kwargs, tensor)
        finally:
            busy = False
        chi = None
        for before, leaf in last:
            chi, _ = jacobian_probes(leaf, tensor, arguments.size, sources)
            if not chi.any():
                reason = f"its output does not depend on that of {before}, which is called before it"
                raise DeclarationError(f"the rescaling of {name}", reason, "choose layers that follow each other")
        pairs = (weighted, weighted), (weighted, bias), (bias, bias)
        A, B, D = (mean_products(*pair, arguments.size) for pair in pairs)
        found[name] = sample = LayerSample(A, B, D, chi)
        s, t = action(name, sample)
        leaf = (s * weighted + t * bias).requires_grad_()
        last[:] = [(name, leaf)]
        plan.steps(phase.value)
        return with_first_tensor(output, leaf.clone())

    with hooked(layers, leaving=leaving):
        run_with_gradients(model, arguments, Additions(lambda number, left, right: None))
    return found


def _usable(name: str, known: bool, tensor: torch.Tensor, size: int) -> None:
    asked = f"the rescaling of {name}"
    if known:
        raise DeclarationError(asked, "it is called several times in a pass", "choose layers called once")
    if not counts_inputs(tensor, size):
        raise DeclarationError(
            asked,
            f"its output has the shape {tuple(tensor.shape)}",
            f"the first axis has to count {size} inputs",
        )
    if not bool(tensor.isfinite().all()):
        raise NonFinitePlace(name)


def _factors(
    name: str, sample: LayerSample, target: TuningTarget, kernel: float | None, factor: float
) -> tuple[EstimatedNumber, EstimatedNumber]:
    A, B, D = (float(values.mean()) for values in (sample.weighted, sample.mixed, sample.bias))
    if not A > 0:
        raise DeclarationError(f"the rescaling of {name}", "its weights give 0", "begin with weights that are not 0")
    fixed = EstimatedNumber(1.0, 0.0)
    if target is TuningTarget.SIZE or sample.chi is None:
        if kernel is None:
            return fixed, fixed
        s = _positive_root(A, B, D - kernel)
        if s is None:
            raise DeclarationError(
                f"kernel = {kernel:.4g} at {name}",
                f"its biases alone have the mean square {D:.4g}",
                "choose a larger kernel",
            )
        return EstimatedNumber(s, sample.kernel(s, 1).error / (2 * (A * s + B))), fixed
    chi = sample.norm(1)
    s = math.sqrt(factor / float(chi))
    weight = EstimatedNumber(s, s * chi.error / (2 * float(chi)))
    if target is TuningTarget.GRADIENT:
        return weight, fixed
    assert kernel is not None
    t = _positive_root(D, s * B, s * s * A - kernel) if D > 0 else None
    if t is None:
        raise DeclarationError(
            f"kernel = {kernel:.4g} at {name}",
            f"with chi = {factor:.4g} its weights give {s * s * A:.4g}, and no factor of its biases gives the rest",
            "choose another kernel, biases that are not 0, or target='gradient'",
        )
    slope = 2 * (D * t + s * B)
    return weight, EstimatedNumber(t, sample.kernel(s, t).error / slope if slope > 0 else math.nan)


def _positive_root(a: float, b: float, c: float) -> float | None:
    """The larger root of ``a x^2 + 2 b x + c`` with a > 0, if it is positive."""
    square = b * b - a * c
    if square < 0:
        return None
    root = (math.sqrt(square) - b) / a
    return root if root > 0 else None
