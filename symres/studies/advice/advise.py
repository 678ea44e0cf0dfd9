"""The choice: the first setting whose networks survive, or the least bad one and a layer near it that does better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from ...check.simulation.partial_jacobians import depth_paths
from ...core.errors import SymresError
from ...core.scalars import Number
from ...core.symbols import C_W, C_b, gamma, xi, z
from ...layers.layer import Layer
from ...layers.nodes import Node
from ...layers.normalisation import LayerNorm
from ...numerics.deferred_numpy import np
from ...results.advice.advice import Advice
from ...results.advice.parts import OFF, Origin, Path, Suggestion, Trial, spread
from ...results.advice.sizes import DEPTH, WIDTH
from ...theory.finite_width.fluctuations import states_of
from ...theory.theory import Theory
from .candidates import groups, optimal_weight
from .flow import DepthFlow, Setting, usual_schemes
from .free_settings import LARGER
from .network_sizes import require_size

NETWORKS = 32  # that are drawn
_NEURONS = 2**26  # of all networks and layers, which take some seconds
_TUNED = {C_W, C_b, gamma, xi}
_FEW = 6  # settings of a group that are tried
_HOPELESS = 20.0  # a range at infinite width that no network of finite width mends
_ALIKE, _SHOWN = 1e-9, 1e-4  # relative: of scales that are treated alike, of fluctuations that are shown
_WEIGHTLESS = "the layer has no Dense, so that there are no weights to draw"
_NOTHING = "the search found no C_W and C_b for which kernels and gradients stay finite"


def advise(
    theory: Theory, depth: Number = DEPTH, width: Number = WIDTH, inputs_kernel: Number | None = None, near: bool = True
) -> Advice:
    """Advice on initialisation for networks of a layer.

    Args:
        theory: of the layer.
        depth: number of layers.
        width: of the stream.
        inputs_kernel: the mean square of the inputs, if it is given; advice keeps it where it can.
        near: whether to look for a layer near it where nothing holds.
    """
    layers, neurons, mean_square = require_size(depth, width, inputs_kernel)
    wanted = tuple(s.name for s in theory.layer.parameters if s not in _TUNED)
    if wanted:
        return Advice(layers, neurons, False, wanted=wanted)
    if not theory.layer.program.draws:
        return Advice(layers, neurons, False, remark=_WEIGHTLESS)
    flow = DepthFlow(theory)
    if not flow.is_known:
        return _without(theory, layers, neurons, near, "gradients are infinite, or not known")
    best = _best(flow, layers, neurons, mean_square)
    if best is None:
        return _without(theory, layers, neurons, near, _NOTHING)
    setting, tried = best
    advice = advice_of(flow, setting, tried, layers, neurons)
    return replace(
        advice,
        fluctuation=_fluctuation(flow, setting, layers, neurons) if tried.holds else None,
        any_scale=_any_scale(flow, setting),
        optimal=gamma in setting.values and setting.values[gamma] == optimal_weight(theory, layers, neurons),
        drift=_drift(flow, setting, layers),
        learning_rate=advice.learning_rate if tried.holds else None,
        usual=usual_schemes(flow, layers, neurons),
        nearest=nearest(theory, layers, neurons) if near and not tried.holds else None,
        given_inputs=mean_square,
    )


def advice_of(flow: DepthFlow, setting: Setting, tried: Trial, depth: int, width: int) -> Advice:
    """A setting with how networks fared that were drawn with it."""
    others = {s.name: v for s, v in setting.values.items() if s not in (C_W, C_b)}
    weight, bias = flow.variances(setting.values)
    inputs = None if weight is None or bias is None else (setting.kernel - bias) / weight
    numbers = (weight, bias, others, setting.kernel, inputs, setting.origin)
    rate = flow.learning_rate(setting, depth)
    return Advice(depth, width, tried.holds, *numbers, flow.path(setting, depth), tried, learning_rate=rate)


def _without(theory: Theory, depth: int, width: int, near: bool, remark: str) -> Advice:
    suggestion = nearest(theory, depth, width) if near else None
    return Advice(depth, width, False, nearest=suggestion, remark=remark)


def nearest(theory: Theory, depth: int, width: int) -> Suggestion | None:
    """The first layer near it for which advice holds, with that advice; None if there is none."""
    for layer in _near(theory.layer):
        try:
            advice = advise(Theory(layer), depth, width, near=False)
        except SymresError:
            continue
        if advice.holds and advice.C_W is not None and advice.C_b is not None and advice.kernel is not None:
            return Suggestion(layer.text, advice.C_W, advice.C_b, advice.parameters, advice.kernel)
    return None


def _near(layer: Layer) -> Iterator[Layer]:
    """The same branch beside a whole skip connection; the same on normalised preactivations."""
    skip = layer.forward.coeff(z) if not isinstance(layer.forward, Node) else sp.Integer(0)
    branch = layer.forward - skip * z
    if not branch.has(z):
        return
    normalised = branch.subs(z, LayerNorm(z)) if not branch.has(LayerNorm) else None
    options = [z + branch] * (skip != 1)
    options += [] if normalised is None else [skip * z + normalised, z + normalised]
    for forward in options:
        try:
            yield Layer(forward)
        except SymresError:  # no layer
            continue


def trial(theory: Theory, setting: Setting, depth: int, width: int) -> Trial:
    """Networks of a depth and a width with given numbers."""
    networks = int(np.clip(_NEURONS // (depth * width), 8, NETWORKS))
    kernels, jacobians = depth_paths(
        theory.layer, setting.values, setting.kernel, depth, width, networks, batch=theory.has_covariance
    )
    ranges = tuple(max(spread(k), spread(j)) for k, j in zip(kernels, jacobians, strict=True))
    with np.errstate(all="ignore"):
        mean = Path(tuple(map(float, kernels.mean(axis=0))), tuple(map(float, jacobians.mean(axis=0))))
    return Trial(networks, mean, ranges)


def _best(flow: DepthFlow, depth: int, width: int, inputs: float | None) -> tuple[Setting, Trial] | None:
    """The first setting that holds in the first group that has one; else the one with the smallest range."""
    kept: list[tuple[Setting, Trial]] = []
    for group in groups(flow, depth, width, inputs):
        tried = []
        for setting in _promising(flow, group, depth):
            tried.append((setting, trial(flow.theory, setting, depth, width)))
            if tried[-1][1].holds and setting.origin is not Origin.SEARCH:
                return _shown(flow, setting, inputs), tried[-1][1]
        kept += tried
        holding = [row for row in tried if row[1].holds]
        if holding:
            return min(holding, key=lambda row: row[1].score)
    return min(kept, key=lambda row: row[1].score, default=None)


def _shown(flow: DepthFlow, setting: Setting, inputs: float | None) -> Setting:
    """The setting for inputs of mean square 1 where they may have any."""
    weight, bias = flow.variances(setting.values)
    if weight is None or bias != 0 or not _any_scale(flow, setting):
        return setting
    return setting.starting(weight * (inputs or 1.0))


def _promising(flow: DepthFlow, group: list[Setting], depth: int) -> list[Setting]:
    """A few settings of a group, in the order in which they are tried; the best one where none is promising."""
    ranges = {id(s): flow.range(s, depth) for s in group}

    def is_robust(setting: Setting) -> bool:
        """Whether an input whose first kernel is four times as large survives as well, at infinite width."""
        return flow.range(setting.starting(LARGER * setting.kernel), depth) < _HOPELESS

    alive = sorted((s for s in group if ranges[id(s)] < _HOPELESS and is_robust(s)), key=lambda s: s.note)
    # of settings that differ by rounding alone, the first
    return alive[:_FEW] or sorted(group, key=lambda s: float(f"{ranges[id(s)]:.9g}"))[:1]


def _any_scale(flow: DepthFlow, setting: Setting) -> bool:
    """Whether a layer treats a kernel and one that is 100 times as large alike."""
    (one, perp), (other, there) = (flow.step(setting.values, k * setting.kernel) for k in (1.0, 100.0))
    return math.isclose(100 * one, other, rel_tol=_ALIKE) and math.isclose(perp, there, rel_tol=_ALIKE)


def _drift(flow: DepthFlow, setting: Setting, depth: int) -> float | None:
    """The relative change of a kernel in the last layer that was 10 % too large in the first."""
    kernels = flow.path(setting.starting(OFF * setting.kernel), depth).kernels
    change = kernels[-1] / kernels[-2] - 1
    return change if math.isfinite(change) else None


def _fluctuation(flow: DepthFlow, setting: Setting, depth: int, width: int) -> float | None:
    """Of the mean square of the last stream: sqrt((V + 2 K^2)/n)/K, with the noise of its own n neurons."""
    if flow.theory.has_covariance:
        return None
    try:
        layer = flow.theory.fluctuating(1)
        last = states_of(np.array([[setting.kernel]]), [(layer, dict(setting.values))] * depth, _SHOWN)[-1]
    except SymresError:
        return None
    kernel = float(last.kernel[0, 0])
    deviation = math.sqrt(max(float(last.V[0, 0, 0, 0]) + 2 * kernel**2, 0.0) / width) / kernel
    return deviation if math.isfinite(deviation) else None
