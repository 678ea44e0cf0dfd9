"""A model is initialised by the theory of its layers: one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from ...core.errors import DeclarationError
from ...core.scalars import whole
from ...results.advice.advice import Advice
from ...results.advice.parts import FACTOR
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.keeping import drawn_seed, kept, next_seed, seeded
from ..models.model_state import active_dropout
from ..models.structures import tensors
from ..probing.adam_step import DESTRUCTIVE, LARGE, RATE
from ..tracing.narrow_places import stream_steps
from ..tracing.run_record import RunRecord
from .advised_kinds import TARGETS, Adviser, regime
from .branch_ends import branch_ends, without_factors
from .canonical_forms import largest_epsilon
from .depth_check import NEAR, DepthCheck, StreamLevel, check_depth
from .init_report import InitReport
from .model_parts import ModelPart, PartRole
from .model_run import adam_changes_of, inputs_or_guess, kept_parameters, own_kernel, parts_of, recorded
from .norm_parameters import norm_parameters
from .setting_weights import StreamSetter
from .weight_store import WeightStore

_NORM = "norms begin with {}"
_DROPPING = (
    "dropout is active in {}: weights are set and measured without it; in train mode p multiplies a mean square by "
    "1/(1 - p)"
)
_SHARES = (1.0, 0.5, 0.25)  # of the weight of branches that stay measured, one after the other while the network fails
_SMALL = 0.01  # of a variance: what a norm may add to it unsaid


def init_(
    model: nn.Module,
    target: str = "critical",
    inputs: Inputs | None = None,
    *,
    dry_run: bool = False,
    seed: int | None = None,
    generator: torch.Generator | None = None,
    force: bool = False,
    like: InitReport | None = None,
) -> InitReport:
    """Initialise a model in place, so that kernels and gradients survive its depth.

    The model is read (see ``st.read``). Layers of a chain get C_W and C_b from ``Theory.advice`` for their number and
    width; the first layer gets the variance that gives the first stream the advised kernel from the inputs, the readout
    the one that gives outputs of mean square 1. Residual branches ``z + xi*branch`` get C_W, and xi^2 C_W in the dense
    layer that ends them, or xi as the weight of the norm that ends them; branches that the theory does not know, such
    as attention, get C_W = 1 and the same xi. Layers behind operations that are not read, such as pools, give the
    stream the kernel that it had before these, as measured. Other norms get weight 1 and bias 0, and batch
    normalisation starts its running statistics anew.

    What starts small is kept, and named: branches whose trained factor, norm or last layer starts below xi (LayerScale,
    ReZero, Fixup, zero-initialised norms) stay as they are behind C_W of branches of weight 1; so does a readout that
    starts at 0. Embeddings, parameters that ask for no gradients, and whatever else is not recognised are left, and
    named.

    Args:
        model: an ``nn.Module``, on any device and in any floating-point type, which it keeps.
        target: "critical", or "match": chains are put on the critical line at the kernel that the first layer has with
            its present weights, residual branches are made for that kernel.
        inputs: a tensor, a tuple (by position) or a mapping (by name); the first 64 inputs are used. None: models that
            begin with an ``nn.Linear`` are prepared for inputs of mean square 1, and checked on Gaussian ones.
        dry_run: only report; nothing is changed.
        seed: of the weights; the random numbers of the process then go on as if nothing had been drawn. None: it is
            drawn from ``generator``, and stands in the report.
        generator: None: the global one of PyTorch, which ``torch.manual_seed`` sets. A dry run draws nothing from it.
        force: take the least bad numbers where not even averages over networks survive, and keep a network that fails
            the measurement at the end, instead of refusing. Where averages do and single networks scatter, because the
            network is deep for its width, the report says so.
        like: the report of an equal model, whose advice is taken over: other seeds are set without new trials.

    Returns:
        What was set on which module and why, with kernels and gradients of this network against the theory.

    Raises:
        DeclarationError: the model cannot be run on the inputs; its weights are computed from other parameters; not
            even averages over networks survive its depth; kernels or gradients of this network do not; or one step of
            Adam at 1e-3 changes a stream by more than ten times its norm. Then the model is as it was.

    Warns:
        UserWarning: one step of Adam at 1e-3 changes a stream by more than its norm.

    Source:
        Roberts, Yaida and Hanin, chapter 5 (criticality); Doshi et al. (1) for C_W = fan_in*Var(w), C_b = Var(b).
    """
    number = _seed(seed, generator)
    label = _checked(model, target)
    given, square = inputs_or_guess(model, inputs)
    report, made = _planned(model, label, (target, number, force, like), given, square)
    moved = report.check.most_changed
    if moved is not None and moved.adam_change > LARGE:
        warnings.warn(_on_change(moved), UserWarning, stacklevel=2)
    if dry_run:
        return report
    _copy(model, made)
    if seed is None:
        drawn_seed(generator)
    return replace(report, changed=True)


def _seed(seed: int | None, generator: torch.Generator | None) -> int:
    if generator is not None and not isinstance(generator, torch.Generator):
        found = f"it is of the type {type(generator).__name__}"
        raise DeclarationError("generator=", found, "pass a torch.Generator, or seed= with an integer")
    if seed is not None and generator is not None:
        raise DeclarationError("seed= and generator=", "both say where weights come from", "pass one of them")
    return next_seed(generator) if seed is None else whole(seed, "seed", 0)


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
    dropping = active_dropout(model)
    like = options[-1]
    known = dict(like.advice) if like is not None and like.target == options[0] else {}
    for dtype in (torch.float64, None):  # some operations have no float64
        for share in _SHARES:
            with seeded(options[1]), kept(model, train=False, dtype=dtype, device=None):
                cast = given.map(partial(_cast, dtype=dtype))
                own = cast.differentiable
                stream = next(tensors(cast.structure)) if own is None else own
                try:
                    before = recorded(model, cast, stream, label)
                except DeclarationError as error:
                    failure = error
                    break
                found = _set(model, label, (*options[:3], known, share), (cast, stream, square), before, frozen)
                if isinstance(found, DeclarationError):
                    failure = found
                    continue
                if dropping:
                    found = replace(found, notes=(*found.notes, _DROPPING.format(", ".join(dropping))))
                return found, {name: model.get_parameter(name).detach().clone() for name in _names(model, found)}
        else:
            break
    raise failure


def _cast(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor.clone()


def _set(
    model: nn.Module,
    label: str,
    options: tuple[str, int, bool, dict[str, Advice], float],
    inputs: tuple[CallArguments, torch.Tensor, float | None],
    before: RunRecord,
    frozen: frozenset[str],
) -> InitReport | DeclarationError:
    """Fill the weights of a model that works on copies, and say what was done, or why the network is not kept."""
    target, seed, force, known, share = options
    given, stream, square = inputs
    generator = torch.Generator().manual_seed(seed)
    store = WeightStore(model, kept_parameters(model, before, frozen), generator, frozen)
    norms = norm_parameters(model, before)
    fixed = frozen | {name for name, _ in model.named_buffers()}
    assert before.output is not None
    ends = branch_ends(before, stream_steps(before, before.output), norms, fixed)
    at_ends = {end.norm for end in ends}
    for name, value in norms.items():
        if name in at_ends:
            model.get_parameter(name).detach().fill_(value)  # for reading; what it starts with depends on the branch
        else:
            store.constant(name, value, _NORM.format("weight 1" if value else "bias 0"))
    record = recorded(model, given, stream, label) if norms else before
    assert record.output is not None
    read = without_factors(record, ends)
    steps = stream_steps(read, record.output)
    calls = [record.calls[call.number] for step in steps for call in step.calls]
    parts = parts_of(model, read, steps, ends, label)
    for name in at_ends.difference({""}, (end.norm for part in parts for end in part.ends)):
        store.constant(name, 1.0, _NORM.format("weight 1"))
    kernel = own_kernel(before, parts) if target == "match" else None
    adviser = Adviser(target, force, kernel, known)
    setter = StreamSetter(parts, calls, adviser, store, stream, square, share)
    setter.set_all()
    output = record.output if setter.readout_entry is None else setter.readout_entry
    check = check_depth(stream, calls, output, setter.predicted, generator)
    numbers = [place.number for place in setter.predicted]
    trained = [name for name, _ in model.named_parameters() if name not in frozen]
    changes = adam_changes_of(model, given, stream, numbers, trained)
    streams = [replace(s, adam_change=change) for s, change in zip(check.streams, changes, strict=True)]
    check = replace(check, streams=tuple(streams))
    kinds = list({kind.form.layer.text: kind for kind in adviser.found.values()}.items())
    known |= {text: kind.advice for text, kind in kinds}
    drawn = [s for s in check.streams if s.place not in setter.untouched.values()]
    failures = _failures(replace(check, streams=tuple(drawn)), [kind.advice for _, kind in kinds])
    may_shrink = share > _SHARES[-1] and any(part.role is PartRole.MEASURED_BRANCH for part in parts)
    if failures and (may_shrink or not force):
        return DeclarationError(f"the initialisation of {label}", *failures[0])
    _leave(model, store)
    advised = (kind for _, kind in kinds if kind not in setter.smaller)
    notes = [*store.notes, *filter(None, map(regime, advised)), *_notes(parts)]
    notes += [*_notes_on_norms(parts, check), *(f"{found}; {remedy}" for found, remedy in failures)]
    if square is not None:
        notes.append("No inputs were given: their mean square is assumed to be 1, and Gaussian ones were measured.")
    advice = tuple((text, kind.advice) for text, kind in kinds)
    return InitReport(label, target, seed, False, tuple(store.settings), advice, check, tuple(dict.fromkeys(notes)))


def _failures(check: DepthCheck, advice: Sequence[Advice]) -> list[tuple[str, str]]:
    """What in the measurement forbids to keep a network, with what to do about it."""
    found = []
    # where networks of infinite width survive and those of this width scatter, as far as they do
    scatter = [max(each.trial.ranges) for each in advice if each.trial is not None]
    allowed = max([FACTOR, *(NEAR * each for each in scatter if each > FACTOR)])
    ranges = {"kernels": check.kernel_range, "squared gradients": check.gradient_range}
    worst = max(ranges, key=lambda name: ranges[name])
    if ranges[worst] > allowed:
        found.append(
            (
                f"in this network {worst} change by a factor of {ranges[worst]:.3g} over the depth, most of it at "
                f"{check.steepest}; up to {allowed:.3g} is expected of networks that survive",
                "initialise it by hand or change the model there, or use force=True",
            )
        )
    moved = check.most_changed
    if moved is not None and moved.adam_change > DESTRUCTIVE:
        found.append((_on_change(moved), "use force=True for smaller learning rates, or another model"))
    return found


def _on_change(stream: StreamLevel) -> str:
    return (
        f"one step of Adam at {RATE:g} on random targets changes {stream.place} by {stream.adam_change:.3g} times its "
        f"norm: learning rates above {RATE / stream.adam_change:.2g} are too large"
    )


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
