"""A model is initialised by the theory of its layers: one call."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from ...core.errors import DeclarationError
from ...core.scalars import whole
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.keeping import kept, seeded
from ..models.structures import tensors
from ..tracing.narrow_places import stream_steps
from ..tracing.run_record import RunRecord
from .advised_kinds import TARGETS, Adviser, regime
from .canonical_forms import largest_epsilon
from .depth_check import DepthCheck, check_depth
from .init_report import InitReport
from .model_parts import ModelPart, PartRole
from .model_run import inputs_or_guess, kept_parameters, own_kernel, parts_of, recorded
from .norm_parameters import norm_parameters
from .setting_weights import StreamSetter
from .weight_store import WeightStore

_SMALL = 0.01  # of a variance: what a norm may add to it unsaid


def init_(
    model: nn.Module,
    target: str = "critical",
    inputs: Inputs | None = None,
    *,
    dry_run: bool = False,
    seed: int = 0,
    force: bool = False,
    like: InitReport | None = None,
) -> InitReport:
    """Initialise a model in place, so that kernels and gradients survive its depth.

    The model is read (see ``st.read``). Layers of a chain get C_W and C_b from ``Theory.advice`` for their number and
    width; the first layer gets the variance that gives the first stream the advised kernel from the inputs, the readout
    the one that gives outputs of mean square 1. Residual branches ``z + xi*branch`` get C_W, and xi^2 C_W in the dense
    layer that ends them; branches that the theory does not know, such as attention, get C_W = 1 and the same xi. Norms
    get weight 1 and bias 0, and batch normalisation starts its running statistics anew. Embeddings, parameters that ask
    for no gradients, and whatever else is not recognised are left, and named.

    Args:
        model: an ``nn.Module``, on any device and in any floating-point type, which it keeps.
        target: "critical", or "match": chains are put on the critical line at the kernel that the first layer has with
            its present weights, residual branches are made for that kernel.
        inputs: a tensor, a tuple (by position) or a mapping (by name); the first 64 inputs are used. None: models that
            begin with an ``nn.Linear`` are prepared for inputs of mean square 1, and checked on Gaussian ones.
        dry_run: only report; nothing is changed.
        seed: of the weights. The random numbers of the process go on as if nothing had been drawn.
        force: take the least bad numbers where not even averages over networks survive, instead of refusing. Where
            averages do and single networks scatter, because the network is deep for its width, the report says so.
        like: the report of an equal model, whose advice is taken over: other seeds are set without new trials.

    Returns:
        What was set on which module and why, with kernels and gradients of this network against the theory.

    Raises:
        DeclarationError: the model cannot be run on the inputs; its weights are computed from other parameters; or
            not even averages over networks survive its depth. Then the model is as it was.

    Source:
        Roberts, Yaida and Hanin, chapter 5 (criticality); Doshi et al. (1) for C_W = fan_in*Var(w), C_b = Var(b).
    """
    number = whole(seed, "seed", 0)
    label = _checked(model, target)
    given, square = inputs_or_guess(model, inputs)
    report, made = _planned(model, label, (target, number, force, like), given, square)
    if dry_run:
        return report
    _copy(model, made)
    return replace(report, changed=True)


def _checked(model: nn.Module, target: str) -> str:
    if not isinstance(model, nn.Module):
        raise DeclarationError(f"a model of the type {type(model).__name__}", "it is no nn.Module", "pass one")
    if not isinstance(target, str):
        asked = f"a target of the type {type(target).__name__}"
        raise DeclarationError(asked, "it is no word", "inputs are passed by name: st.init_(model, inputs=...)")
    if target not in TARGETS:
        raise DeclarationError(f"target={target!r}", "there is no such target", 'use "critical" or "match"')
    label = type(model).__name__
    if next(model.parameters(), None) is None:
        raise DeclarationError(f"the model {label}", "it has no parameters", "pass a model with weights")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise DeclarationError(
            f"the model {label}", "none of its parameters asks for gradients", "unfreeze some of them"
        )
    return label


def _planned(
    model: nn.Module,
    label: str,
    options: tuple[str, int, bool, InitReport | None],
    given: CallArguments,
    square: float | None,
) -> tuple[InitReport, dict[str, torch.Tensor]]:
    """What is to be done, and the new tensors; the model works on copies meanwhile, in float64 where it can."""
    frozen = frozenset(name for name, parameter in model.named_parameters() if not parameter.requires_grad)
    for dtype in (torch.float64, None):  # some operations have no float64
        with seeded(options[1]), kept(model, train=False, dtype=dtype, device=None):
            cast = given.map(partial(_cast, dtype=dtype))
            own = cast.differentiable
            stream = next(tensors(cast.structure)) if own is None else own
            try:
                before = recorded(model, cast, stream, label)
            except DeclarationError as error:
                failure = error
                continue
            report = _set(model, label, options, (cast, stream, square), before, frozen)
            return report, {name: model.get_parameter(name).detach().clone() for name in _names(model, report)}
    raise failure


def _cast(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor.clone()


def _set(
    model: nn.Module,
    label: str,
    options: tuple[str, int, bool, InitReport | None],
    inputs: tuple[CallArguments, torch.Tensor, float | None],
    before: RunRecord,
    frozen: frozenset[str],
) -> InitReport:
    """Fill the weights of a model that works on copies, and say what was done."""
    target, seed, force, like = options
    given, stream, square = inputs
    generator = torch.Generator().manual_seed(seed)
    store = WeightStore(model, kept_parameters(model, before, frozen), generator)
    for name, value in norm_parameters(model, before).items():
        store.constant(name, value, f"norms begin with {'weight 1' if value else 'bias 0'}")
    record = recorded(model, given, stream, label) if store.settings else before
    assert record.output is not None
    steps = stream_steps(record, record.output)
    calls = [call for step in steps for call in step.calls]
    parts = parts_of(model, record, steps, label)
    kernel = own_kernel(before, parts) if target == "match" else None
    adviser = Adviser(target, force, kernel, dict(like.advice) if like is not None and like.target == target else {})
    setter = StreamSetter(parts, calls, adviser, store, stream, square)
    setter.set_all()
    check = check_depth(stream, calls, record.output, setter.predicted, generator)
    _leave(model, store)
    kinds = list({kind.form.layer.text: kind for kind in adviser.found.values()}.items())
    notes = [*store.notes, *filter(None, (regime(kind) for _, kind in kinds)), *_notes(parts)]
    notes += _notes_on_norms(parts, check)
    if square is not None:
        notes.append("No inputs were given: their mean square is assumed to be 1, and Gaussian ones were measured.")
    advice = tuple((text, kind.advice) for text, kind in kinds)
    return InitReport(label, target, seed, False, tuple(store.settings), advice, check, tuple(dict.fromkeys(notes)))


def _leave(model: nn.Module, store: WeightStore) -> None:
    """Name what was not set."""
    done = store.set_names
    for name, _ in model.named_parameters():
        if name not in done:
            other = "no weights of a dense layer, convolution or norm through which the output depends on the inputs"
            store.leave(name, store.kept.get(name, other))


def _notes_on_norms(parts: tuple[ModelPart, ...], check: DepthCheck) -> list[str]:
    found = [largest_epsilon(part.stretch.found) for part in parts if part.stretch.found is not None]
    lowest = min((stream.kernel for stream in check.streams), default=math.inf)
    if max(found, default=0.0) <= _SMALL * lowest:
        return []
    return [
        f"a norm adds {max(found):.3g} to variances, the smallest of which is {lowest:.3g}; the theory leaves it out"
    ]


def _notes(parts: tuple[ModelPart, ...]) -> list[str]:
    """What is no layer of the theory, once for each reason."""
    found: dict[str, list[str]] = {}
    for part in parts:
        if part.role in (PartRole.MEASURED, PartRole.MEASURED_BRANCH):
            found.setdefault(part.reason or "it cannot be read", []).append(part.place)
    return [f"no layer of the theory: {', '.join(places)}; {reason}" for reason, places in found.items()]


def _names(model: nn.Module, report: InitReport) -> list[str]:
    """The parameters that were set, each once."""
    left = {".".join(filter(None, (s.module, s.tensor))) for s in report.left}
    return [name for name, _ in model.named_parameters() if name not in left]


def _copy(model: nn.Module, made: dict[str, torch.Tensor]) -> None:
    """All tensors, or none."""
    before: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        try:
            for name, tensor in made.items():
                parameter = model.get_parameter(name)
                before[name] = parameter.detach().clone()
                parameter.copy_(tensor)
            for module in model.modules():
                if isinstance(module, nn.modules.batchnorm._NormBase):
                    module.reset_running_stats()
        except BaseException:
            for name, tensor in before.items():
                model.get_parameter(name).copy_(tensor)
            raise
