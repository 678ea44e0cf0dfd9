"""One run of a model, call by call: through which operations of PyTorch the stream goes, and in which modules.

The run is an ordinary one, on numbers, so that no code defeats it. What depends on the input is numbered, value by
value; everything else (weights, masks, positions) is a constant of the run. A program that makes Python numbers of
stream values, to branch on them for instance, is noticed: its record would not hold for other inputs.

Anybody's model is run on the inputs of its user or on guessed ones, with or without the mean effect of dropout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import FunctionType
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from ...core.errors import DeclarationError, SymresError
from ..models.call_arguments import CallArguments, Inputs, converted, first_tensor, tensors
from ..models.keeping import device_of, kept, on_one_line, seeded
from ..models.observing import hooked
from .run_record import PRODUCTS, ComputedWeight, ModuleCall, RecordedCall, RunRecord, StreamValue

_WIDE = (torch.float64, None)  # the numbers in which a model is run; some operations have no float64
_DROPOUTS = (functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d)
# operations that turn values into Python numbers
_READS = frozenset(
    {"item", "tolist", "numpy", "equal", "allclose", "is_nonzero"}
    | {"__bool__", "__float__", "__int__", "__index__", "__complex__", "__array__", "__contains__"}
)
# of a tensor only shape and type go in
_SHAPED_ALIKE = frozenset(
    {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"}
    | {"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"}
)
_CUTS = frozenset({"detach", "detach_", "data"})  # gradients do not pass


def record_run(
    model: nn.Module, arguments: CallArguments, inside: AbstractContextManager[None] | None = None
) -> RunRecord:
    """Run a model and record what happens to the tensor that is followed among its arguments.

    Args:
        model: in the state in which it is to be read; its weights must not require gradients.
        arguments: of the call.
        inside: what lasts while it is recorded: operations that this replaces are recorded as what they become.
    """
    recorder, stream = _Recorder(model, arguments.followed), arguments.followed
    arguments = arguments.map(lambda tensor: recorder.first if tensor is stream else tensor)
    with torch.enable_grad(), recorder.watched(), recorder, inside or nullcontext():
        output = first_tensor(model(*arguments.args, **arguments.kwargs))
    recorder.record.output = None if output is None else recorder.number(output)
    return recorder.record


class _Recorder(TorchFunctionMode):
    """Sees every call of PyTorch's functions from Python."""

    def __init__(self, model: nn.Module, stream: torch.Tensor) -> None:
        super().__init__()
        named = [*model.named_buffers(), *model.named_parameters()]
        memory = {t.untyped_storage().data_ptr(): name for name, t in named if t.numel()}
        self.record = RunRecord(names={id(t): name for name, t in named}, memory=memory)
        self._parameters = {id(p): name for name, p in model.named_parameters()}
        self._model = model
        self._numbers: dict[int, int] = {}  # by the identity of tensors, which live as long as the recorder
        self._frames: list[tuple[ModuleCall, list[int]]] = []  # modules that are being run, and what entered them
        self._modules = 0
        # values made of the model's integers alone, such as tokens: what is checked of them is no branch on a stream
        self._of_indices: set[int] = set()
        self.first = self._followed(stream.detach())
        self._new(self.first, is_of_indices=not stream.is_floating_point())

    def number(self, tensor: torch.Tensor) -> int | None:
        """The number of a tensor that depends on the input; None for others."""
        if id(tensor) not in self._numbers and tensor.requires_grad:
            self._unseen(tensor)
        return self._numbers.get(id(tensor))

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """One call: noted if a tensor that depends on the input goes in."""
        kwargs = kwargs or {}
        if (divided := _DIVIDED.get(func)) is not None:
            with self:
                return divided(*args, **kwargs)
        before = [(t, t._version, self.number(t)) for t in tensors((args, kwargs))]
        sources = [number for _, _, number in before if number is not None]
        if not sources or _name(func) in _SHAPED_ALIKE:
            result = func(*args, **kwargs)
            if not sources:
                self._note_computed(_name(func), [t for t, _, _ in before], result)
            return result
        frozen = tree_map(self._frozen, (args, kwargs))
        if _raw_name(func) in _READS:
            if not self._of_indices.issuperset(sources):
                self.record.reads.append(self._inside)
            # that tensors require gradients is this recorder's doing, and numpy() would refuse them
            args, kwargs = tree_map(_without_gradient, (args, kwargs))
            return func(*args, **kwargs)
        has_gradients = torch.is_grad_enabled() and _name(func) not in _CUTS
        try:
            result = func(*args, **kwargs)
        except RuntimeError:  # perhaps only because of gradients, which this recorder asks for
            args, kwargs = tree_map(_without_gradient, (args, kwargs))
            result, has_gradients = func(*args, **kwargs), False
        changed = [t for t, version, _ in before if t._version != version]
        made = list(tensors(result))
        if not changed and not made:
            return result
        if len(made) == 1 and result is made[0] and not changed and not result.requires_grad:
            result = self._followed(result)
            made = [result]
        news = [t for t in made if all(t is not other for other in changed)] + changed
        self._note(_name(func), func, frozen, sources, news, changed, has_gradients)
        return result

    def _note_computed(self, name: str, sources: list[torch.Tensor], result: Any) -> None:
        """What is computed from parameters, and whether it is one of them with some entries set to 0."""
        names = {self._parameters[id(t)] for t in sources if id(t) in self._parameters}
        names = names.union(*(self.record.computed[id(t)].names for t in sources if id(t) in self.record.computed))
        if not names:
            return
        masked, mask = (_masked(sources, self._parameters) if name in PRODUCTS else None) or (None, None)
        for made in tensors(result):
            # views of parameters are these themselves
            if made.is_floating_point() and made.untyped_storage().data_ptr() not in self.record.memory:
                self.record.computed[id(made)] = ComputedWeight(made, frozenset(names), masked, mask)

    def _note(
        self,
        name: str,
        func: Callable[..., Any],
        arguments: tuple[Any, Any],
        sources: list[int],
        news: list[torch.Tensor],
        changed: list[torch.Tensor],
        has_gradients: bool,
    ) -> None:
        """Record a call with the numbers of what it made; other views of what it changed in place are lost."""
        for tensor in changed:  # other views of its memory
            memory = tensor.untyped_storage().data_ptr()
            for number, other in self.record.values.items():
                if other is not tensor and other.untyped_storage().data_ptr() == memory:
                    self.record.overwritten.add(number)
        is_of_indices = self._of_indices.issuperset(sources)
        results = tuple(self._new(tensor, is_of_indices) for tensor in news)
        calls = self.record.calls
        call = RecordedCall(
            len(calls), name, func, *arguments, tuple(sources), results, len(changed), self._inside, has_gradients
        )
        calls.append(call)

    def _unseen(self, tensor: torch.Tensor) -> None:
        """A tensor that depends on the input and came from code that Python does not see."""
        sources = next((entered for _, entered in reversed(self._frames) if entered), [0])
        values = tuple(map(StreamValue, sources))
        self._note("compiled code", _not_repeatable, (values, {}), list(sources), [tensor], [], False)

    def _new(self, tensor: torch.Tensor, is_of_indices: bool) -> int:
        """Number a tensor, with its mean square as it is now."""
        number = len(self.record.values)
        self.record.values[number] = tensor
        is_real = tensor.is_floating_point() and tensor.numel() > 0
        self.record.mean_squares[number] = float(tensor.detach().square().mean()) if is_real else math.nan
        self._numbers[id(tensor)] = number
        if is_of_indices and not tensor.is_floating_point():
            self._of_indices.add(number)
        return number

    def _frozen(self, value: Any) -> Any:
        is_followed = isinstance(value, torch.Tensor) and id(value) in self._numbers
        return StreamValue(self._numbers[id(value)]) if is_followed else value

    @staticmethod
    def _followed(tensor: torch.Tensor) -> torch.Tensor:
        """A copy whose descendants say that they depend on it, and that may be changed in place."""
        if not tensor.is_floating_point():
            return tensor.clone()
        return tensor.detach().requires_grad_().clone()

    @property
    def _inside(self) -> tuple[ModuleCall, ...]:
        return tuple(call for call, _ in self._frames)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Know in which module the program is."""

        def entering(name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
            call = ModuleCall(self._modules, name, module)
            self._modules += 1
            numbers = [self.number(t) for t in tensors((args, kwargs))]
            followed = [number for number in numbers if number is not None]
            self._frames.append((call, followed))
            if followed:
                self.record.entered[call] = followed[0]

        def leaving(name: str, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            tensor = first_tensor(output)
            number = None if tensor is None else self.number(tensor)
            call, _ = self._frames.pop()
            if number is not None:
                self.record.left[call] = number

        with hooked(dict(self._model.named_modules()), entering, leaving):
            yield


def _gated(input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def _scores(input: Any, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    product = batch1 @ batch2 if alpha == 1 else alpha * (batch1 @ batch2)
    return product + beta * input if beta else product


_attention = functional.multi_head_attention_forward
_globals = vars(functional) | {"has_torch_function": lambda tensors: False}  # it would hand itself over once more
# functions that are recorded as the operations that they consist of
_DIVIDED: Mapping[Any, Callable[..., Any]] = {
    functional.glu: _gated,
    torch.baddbmm: _scores,
    torch.Tensor.baddbmm: _scores,
    _attention: FunctionType(_attention.__code__, _globals, None, _attention.__defaults__),
}


def _masked(factors: list[torch.Tensor], parameters: Mapping[int, str]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """A parameter and the mask that multiplies it; None for other factors."""
    for weight, mask in (factors, factors[::-1]) if len(factors) == 2 else ():
        is_mask = id(weight) in parameters and id(mask) not in parameters and weight.shape == mask.shape
        if is_mask and bool(((mask == 0) | (mask == 1)).all()) and bool(mask.any()):
            return weight, mask.detach()
    return None


def _not_repeatable(*args: Any) -> None:
    raise NotImplementedError("compiled code hides its operations")


def _without_gradient(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _raw_name(func: Any) -> str:
    name = str(getattr(func, "__name__", type(func).__name__))
    return str(getattr(func.__self__, "__name__", name)) if name == "__get__" else name  # an attribute of tensors


def _name(func: Any) -> str:
    return _raw_name(func).strip("_")


def inputs_or_guess(model: nn.Module, inputs: Inputs | None, most: int, guessed: int, call: str) -> CallArguments:
    """At most so many of a user's inputs, or all where the model needs them together.

    Where there are none, a number of Gaussian ones is guessed for a model that begins with an ``nn.Linear``; an error
    names what the user has called.

    Raises:
        DeclarationError: which inputs the model takes is not known.
    """
    if inputs is None:
        first = next((m for m in model.modules() if next(m.parameters(recurse=False), None) is not None), None)
        if not isinstance(first, nn.Linear):
            asked, remedy = f"the model {type(model).__name__}", f"pass inputs: {call}(model, inputs=...)"
            raise DeclarationError(asked, "symres cannot tell which inputs it takes", remedy)
        source = torch.Generator().manual_seed(0)
        inputs = torch.randn(guessed, first.in_features, generator=source, dtype=torch.float64).to(first.weight)
    arguments = CallArguments.of(inputs)
    part = next(part for _, part in arguments.parts(most))
    return part if part.size == arguments.size or _takes(model, part) else arguments


def _takes(model: nn.Module, arguments: CallArguments) -> bool:
    """Whether a model runs on some of the inputs: not if others are named among them, as the neighbours in a graph."""
    with seeded(0), kept(model, train=False):
        try:
            recorded(model, arguments, None)
        except DeclarationError:
            return False
    return True


def recorded(
    model: nn.Module,
    arguments: CallArguments,
    dtype: torch.dtype | None,
    inside: AbstractContextManager[None] | None = None,
) -> tuple[CallArguments, RunRecord]:
    """A run of a model that works on copies of its weights, as ``record_run``, and the arguments that it was run on.

    These are copies on the model's device, with floating-point numbers of the type ``dtype``, if there is one.

    Raises:
        DeclarationError: the model fails on the arguments, or its output does not depend on them.
    """
    label = type(model).__name__
    device = device_of(model, arguments.followed)
    arguments = arguments.map(partial(converted, dtype=dtype, device=device))
    try:
        record = record_run(model, arguments, inside)
    except SymresError:
        raise
    except Exception as error:  # whatever the user's code raises
        reason = f"it fails on the inputs: {on_one_line(error)}"
        raise DeclarationError(f"the model {label}", reason, "pass inputs that it takes") from error
    record.required_output(label)
    return arguments, record


@contextmanager
def widest_run(
    model: nn.Module,
    arguments: CallArguments,
    seed: int,
    inside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[tuple[CallArguments, RunRecord]]:
    """A run in eval mode, in float64 where all operations have it, else in the model's own numbers; as ``recorded``.

    The model works on copies of its weights as long as the context lasts, and random numbers come from the seed.

    Args:
        model: the model.
        arguments: of the call.
        seed: of whatever draws random numbers.
        inside: makes what lasts while it is recorded.

    Raises:
        DeclarationError: as ``recorded``.
    """
    for dtype in _WIDE:
        with seeded(seed), kept(model, train=False, dtype=dtype):
            try:
                run = recorded(model, arguments, dtype, inside())
            except DeclarationError as error:
                failure = error
                continue
            yield run
            return
    raise failure


class MeanDropout(TorchFunctionMode):
    """Dropout that is idle in eval mode becomes the factor 1/sqrt(1 - p), where the model was in train mode.

    A mask keeps a share 1 - p of the entries and divides them by it, so that the mean squares of values, and of the
    derivatives that pass it backwards, grow by 1/(1 - p), over masks on average. Alpha dropout is left, which keeps
    mean squares, and what drops out inside of compiled operations, such as attention.

    Args:
        model: the model, in the mode that its user has it in.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.names: dict[str, None] = {}  # of the modules that called it, in the order of the run
        self._modules = dict(model.named_modules())
        self._training = frozenset(name for name, module in self._modules.items() if module.training)
        self._frames: list[str] = []  # the modules that are being run

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace it in all runs of the model inside of the context, by an operation that it is recorded as."""
        self._frames.clear()

        def leaving(*call: object) -> None:
            self._frames.pop()

        with hooked(self._modules, lambda name, *call: self._frames.append(name), leaving), self:
            yield

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _DROPOUTS and self._frames:
            arguments = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | (kwargs or {})
            if not arguments.get("training", True):
                return self._replaced(arguments["input"], arguments.get("p", 0.5), arguments.get("inplace", False))
        return func(*args, **(kwargs or {}))

    def _replaced(self, input: torch.Tensor, p: float, inplace: bool) -> torch.Tensor:
        """What comes out of an idle dropout, which changes its argument if it does so ``inplace``."""
        module = self._frames[-1]
        if module not in self._training or not 0 < p < 1:  # with p = 1 nothing is left to be set
            return input
        self.names[module or type(self._modules[""]).__name__] = None
        factor = (1 - p) ** -0.5
        return input.mul_(factor) if inplace else input * factor
