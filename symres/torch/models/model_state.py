"""What a model does besides computing: drops out, averages over a batch, gives numbers that are not finite.

Also whether two passes on the same inputs agree, and what is changed in place: an input, or what gradients need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import torch
from torch import nn

from ...core.errors import DeclarationError
from .call_arguments import CallArguments, first_tensor, tensors
from .choosing import module_in_words, some_of
from .keeping import first_line, kept, passing
from .observing import hooked

_BATCH_NORM = nn.modules.batchnorm._BatchNorm
_DROPOUT = (nn.modules.dropout._DropoutNd, nn.RReLU)
_CLOSE = 1e-6  # relative difference of sums that an order of summation makes


def mixes_inputs(model: nn.Module) -> bool:
    """Whether batch normalisation takes its averages from the inputs of a pass, which then depend on each other."""
    return any(
        isinstance(module, _BATCH_NORM) and (module.training or module.running_mean is None)
        for module in model.modules()
    )


def active_dropout(model: nn.Module) -> list[str]:
    """The names of modules that drop out in their present mode."""

    def share(module: nn.Module) -> float:
        if isinstance(module, nn.MultiheadAttention) or (isinstance(module, nn.RNNBase) and module.num_layers > 1):
            return float(module.dropout)
        return float(getattr(module, "p", 1.0)) if isinstance(module, _DROPOUT) else 0.0

    modules = model.named_modules()
    return [name or type(module).__name__ for name, module in modules if module.training and share(module) > 0]


def remarks_on(model: nn.Module) -> list[str]:
    """What a user should know about a model in its present mode; one line each."""
    remarks = []
    if dropping := active_dropout(model):
        remarks.append(
            f"dropout is active in {some_of(dropping)}: the numbers are those of random masks; use mode='eval'"
        )
    norms = {name: module for name, module in model.named_modules() if isinstance(module, _BATCH_NORM)}
    updates = {name: norm.num_batches_tracked for name, norm in norms.items() if not norm.training}
    if idle := [name for name, count in updates.items() if count is not None and int(count) == 0]:
        reason = "normalises by running statistics that were never updated (0 and 1): use mode='train'"
        remarks.append(f"{some_of(idle)} {reason}")
    return remarks


def first_nonfinite(model: nn.Module, arguments: CallArguments) -> str:
    """Where numbers that are not finite appear first, in words."""
    for tensor in tensors(arguments.structure):
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            return "they are in the inputs"
    for name, parameter in model.named_parameters():
        if not bool(parameter.isfinite().all()):
            return f"they are in the weights {name}"
    places: list[str] = []

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor = first_tensor(output)
        if tensor is not None and not bool(tensor.isfinite().all()):
            places.append(f"they appear first in the output of {name or 'the model'} ({type(module).__name__})")

    with hooked(dict(model.named_modules()), leaving=leaving), torch.no_grad():
        arguments.call(model)
    return next(iter(places), "they appear between modules")


def outputs_of(model: nn.Module, arguments: CallArguments) -> list[torch.Tensor]:
    """All tensors that a pass without gradients returns, copied."""
    with torch.no_grad(), passing(model):
        return [tensor.clone() for tensor in tensors(arguments.call(model))]


def varies(model: nn.Module, arguments: CallArguments, first: Sequence[torch.Tensor] | None = None) -> bool:
    """Whether two passes on the same inputs differ by more than rounding: something is random, or kept from before.

    Args:
        model: the model, in the mode that is meant.
        arguments: the inputs.
        first: what one pass has returned, if there was one.
    """
    one = outputs_of(model, arguments) if first is None else first
    other = outputs_of(model, arguments)
    return len(one) != len(other) or any(map(_differ, one, other))


def where_passes_differ(model: nn.Module, arguments: CallArguments) -> str:
    """The innermost module that gives two outputs for the same input in two passes, in words."""
    one, other = _calls(model, arguments), _calls(model, arguments)
    for (words, entered, left), (words_again, entered_again, left_again) in zip(one, other, strict=False):
        if words != words_again:
            break  # other modules are called each time
        if _same(entered, entered_again) and not _same(left, left_again):
            return words
    return type(model).__name__


def _calls(model: nn.Module, arguments: CallArguments) -> list[tuple[str, torch.Tensor, torch.Tensor]]:
    """All calls of modules in one pass, in the order in which they end: the module, what entered and what left it."""
    calls: list[tuple[str, torch.Tensor, torch.Tensor]] = []
    entered: list[torch.Tensor] = []

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        entered.append(_sums((args, kwargs)))

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        calls.append((module_in_words(name, module), entered.pop(), _sums(output)))

    with hooked(dict(model.named_modules()), entering, leaving):
        outputs_of(model, arguments)
    return calls


def _sums(value: object) -> torch.Tensor:
    """The sum of each tensor, and that of the sizes of its entries, shape (tensors, 2)."""
    numbers = [torch.nan_to_num(tensor.detach().to(torch.float32)) for tensor in tensors(value)]
    return torch.tensor([(float(each.sum()), float(each.abs().sum())) for each in numbers]).reshape(-1, 2)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return len(one) == len(other) and bool(((one == other) | ((one - other).abs() <= _CLOSE * one[:, 1:])).all())


def _differ(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors differ by more than the rounding of their type."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return True
    if not one.is_floating_point():
        return not torch.equal(one, other)
    if one.numel() == 0 or torch.equal(one, other):
        return False
    first, second = (torch.nan_to_num(tensor.to(torch.float32)) for tensor in (one, other))
    rounding = torch.finfo(one.dtype).eps ** 0.75 if one.dtype != torch.float64 else torch.finfo(torch.float32).eps
    return bool((first - second).abs().max() > rounding * first.abs().max())


@contextmanager
def input_changes(model: nn.Module) -> Iterator[dict[str, None]]:
    """Around a pass: the modules, by name and type, that change in place what enters the model.

    Of several inside of each other it is the innermost.
    """
    changes: dict[str, None] = {}
    followed: list[tuple[torch.Tensor, int]] = []  # as long as they are as they were
    running: list[str] = []

    def look() -> None:
        """Note what has changed since the last module began or ended."""
        unchanged = [(tensor, version) for tensor, version in followed if tensor._version == version]
        if running and len(unchanged) < len(followed):
            changes[running[-1]] = None
        followed[:] = unchanged

    def entering(name: str, module: nn.Module, args: object, kwargs: object) -> None:
        look()
        running.append(module_in_words(name, module))
        if module is model:
            followed.extend((tensor, tensor._version) for tensor in tensors((args, kwargs)))

    def leaving(*call: object) -> None:
        look()
        running.pop()

    with hooked(dict(model.named_modules()), entering, leaving):
        yield changes


def first_without_gradients(model: nn.Module, arguments: CallArguments) -> str:
    """The first module from whose output gradients cannot go back to input and weights, in words; empty for none.

    Where an operation in place has overwritten what gradients need, it is the module that ends first after it.
    """
    broken: list[str] = []
    copies, sources = arguments.map(torch.clone), list(model.parameters())
    if copies.differentiable is not None:
        leaf = copies.differentiable.detach().requires_grad_()
        copies, sources = copies.with_differentiable(leaf.clone()), [leaf, *sources]

    def leaving(name: str, module: nn.Module, args: object, kwargs: object, output: object) -> None:
        tensor, leaves = first_tensor(output), [source for source in sources if source.requires_grad]
        if tensor is None or not tensor.requires_grad or not leaves:
            return
        try:
            torch.autograd.grad(tensor.sum(), leaves, retain_graph=True, allow_unused=True)
        except RuntimeError:
            broken.append(module_in_words(name, module))
            raise  # it stops the pass

    with kept(model), suppress(RuntimeError), torch.enable_grad():
        for parameter in model.parameters():
            parameter.requires_grad_(parameter.is_floating_point())
        with hooked(dict(model.named_modules()), leaving=leaving):
            model(*copies.args, **copies.kwargs)
    return broken[0] if broken else ""


def without_gradients(model: nn.Module, arguments: CallArguments, error: RuntimeError) -> DeclarationError:
    """What to say of a model whose gradients PyTorch does not compute: the module, if it is found."""
    said = first_line(error).split(" Hint: ")[0]  # which is about anomaly detection
    if where := first_without_gradients(model, arguments):
        return DeclarationError(f"gradients through {where}", said, "do not change tensors in place there")
    remedy = "the model must be differentiable in reverse mode; checkpoints need use_reentrant=False"
    return DeclarationError("gradients at the places of the model", said, remedy)
