"""A run of a model, call by call: what went into each operation of PyTorch, what came out, and in which modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map

from ...core.errors import DeclarationError
from ..models.call_arguments import mean_square, tensors
from ..models.keeping import on_one_line

# names of operations
CONVOLUTIONS = {"conv1d": 1, "conv2d": 2, "conv3d": 3}  # with their dimensions
TRANSPOSED = frozenset({"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
MATRIX_PRODUCTS = frozenset({"matmul", "mm"})
DROPOUTS = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"})
SUMS = {"add": 1, "radd": 1, "iadd": 1, "sub": -1, "isub": -1, "subtract": -1}  # with the sign of the second term
PRODUCTS = frozenset({"mul", "rmul", "imul", "multiply"})
# the names of their arguments, in order
_ARGUMENTS = {
    "linear": "input weight bias",
    "addmm": "input mat1 mat2",
    "mean": "input dim keepdim",
    "var": "input dim unbiased keepdim",
    "layer_norm": "input normalized_shape weight bias eps",
    "rms_norm": "input normalized_shape weight eps",
    "softmax": "input dim",
    "pad": "input pad mode value",
    **{f"adaptive_avg_pool{n}d": "input output_size" for n in (1, 2, 3)},
    "scaled_dot_product_attention": "query key value attn_mask dropout_p is_causal scale enable_gqa",
    "batch_norm": "input running_mean running_var weight bias training momentum eps",
    "group_norm": "input num_groups weight bias eps",
    **dict.fromkeys(CONVOLUTIONS, "input weight bias stride padding dilation groups"),
    **dict.fromkeys(TRANSPOSED, "input weight bias stride padding output_padding groups dilation"),
    **dict.fromkeys(MATRIX_PRODUCTS, "input other"),
    **dict.fromkeys(DROPOUTS, "input p training"),
}


@dataclass(frozen=True)
class StreamValue:
    """A tensor that depends on the input, by its number; the input has number 0."""

    number: int


@dataclass(frozen=True, eq=False)
class ModuleCall:
    """One call of a module of the model.

    Args:
        number: of calls of modules, in the order in which they began.
        name: the qualified name of the module, empty for the model itself.
        module: the module.
    """

    number: int
    name: str
    module: nn.Module


@dataclass(frozen=True, eq=False)
class RecordedCall:
    """One operation on stream values.

    Args:
        number: of calls, in order.
        name: of the operation, without the marks of methods (``__add__`` and ``Tensor.add`` are "add").
        function: what was called.
        args: by position, tensors that depend on the input as ``StreamValue``.
        kwargs: by name, likewise.
        sources: the stream values that went in.
        results: those that came out, in the order of the tensors of the result; then those of arguments that changed.
        changed: how many of the tensors among the arguments changed in place.
        inside: the modules in which it happened, outermost first.
        has_gradients: whether PyTorch differentiates it; not where the code switches that off, or has its own rule.
    """

    number: int
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    sources: tuple[int, ...]
    results: tuple[int, ...]
    changed: int
    inside: tuple[ModuleCall, ...]
    has_gradients: bool

    @property
    def by_name(self) -> dict[str, Any]:
        """All arguments by name, of the operations whose names of arguments stand here."""
        return dict(zip(_ARGUMENTS[self.name].split(), self.args, strict=False)) | dict(self.kwargs)


@dataclass(frozen=True, eq=False)
class ComputedWeight:
    """A tensor that a run computes from parameters alone.

    Args:
        tensor: what was computed.
        names: of the parameters.
        masked: the parameter of which some entries are set to 0, by pruning for instance; None for any other tensor.
        mask: 1 where entries are kept, 0 elsewhere, in the shape of the parameter.
    """

    tensor: torch.Tensor
    names: frozenset[str]
    masked: torch.Tensor | None = None
    mask: torch.Tensor | None = None


@dataclass(eq=False, kw_only=True)
class RunRecord:
    """A run of a model.

    Args:
        names: the names of parameters and buffers, by the identity of the tensor.
        memory: the names of parameters and buffers, by the address of their memory, for views of them.
        calls: the operations on stream values.
        values: the tensors, by number; those that were changed in place are as they became.
        mean_squares: of the entries of each value when it was made; nan for integers.
        output: the number of the model's output; None if it does not depend on the input.
        entered: the first stream value that went into each call of a module.
        left: the first stream value that came out of it.
        reads: the modules in which stream values became Python numbers, outermost first.
        overwritten: values whose memory was changed through another view of it.
        computed: tensors that are computed from parameters alone, by their identity.
    """

    names: Mapping[int, str]
    memory: Mapping[int, str]
    calls: list[RecordedCall] = field(default_factory=list)
    values: dict[int, torch.Tensor] = field(default_factory=dict)
    mean_squares: dict[int, float] = field(default_factory=dict)
    output: int | None = None
    entered: dict[ModuleCall, int] = field(default_factory=dict)
    left: dict[ModuleCall, int] = field(default_factory=dict)
    reads: list[tuple[ModuleCall, ...]] = field(default_factory=list)
    overwritten: set[int] = field(default_factory=set)
    computed: dict[int, ComputedWeight] = field(default_factory=dict)

    def name_of(self, tensor: torch.Tensor, otherwise: str) -> str:
        """The name of the parameter or buffer that a tensor is, or is a view of, transposed for instance."""
        of_view = self.memory.get(tensor.untyped_storage().data_ptr(), otherwise)
        return self.names.get(id(tensor), of_view)

    def is_weight(self, tensor: torch.Tensor) -> bool:
        """Whether it is a parameter or buffer, a view of one, or computed from parameters; no constant of the run."""
        return bool(self.name_of(tensor, "")) or id(tensor) in self.computed

    def required_output(self, label: str) -> int:
        """The number of the output of the model, which messages call by its label.

        Raises:
            DeclarationError: the record does not hold for other inputs, or the output does not depend on the input.
        """
        output = self.output or 0
        problem: tuple[str, ...] = ()
        if any(not inside or not inside[-1].name for inside in self.reads):
            problem = (
                "its forward, or compiled code in it, converts values that depend on the input to Python numbers, to "
                "branch on them for instance",
                "move this code into a submodule, which symres then measures",
            )
        elif not output:
            problem = "its output does not depend on its first input", "pass inputs that it uses"
        elif not self.values[output].ndim:
            problem = (
                "its output is a single number, a loss for instance, and not one output for each input",
                "pass a model, or a part of it, that returns outputs",
            )
        if problem:
            raise DeclarationError(f"the model {label}", *problem)
        return output


def made_again(call: RecordedCall, values: Mapping[int, torch.Tensor]) -> Iterator[tuple[int, torch.Tensor]]:
    """What a call makes of other stream values, by number; batch normalisation averages over their inputs.

    The call gets copies of what it changes in place.
    """
    entering = {number: values[number].clone() if call.changed else values[number] for number in call.sources}
    args, kwargs = tree_map(
        lambda leaf: entering[leaf.number] if isinstance(leaf, StreamValue) else leaf, (call.args, dict(call.kwargs))
    )
    if call.name == "batch_norm":  # as in train mode
        by_name = replace(call, args=args, kwargs=kwargs).by_name
        result = functional.batch_norm(**(by_name | {"running_mean": None, "running_var": None, "training": True}))
    else:
        result = call.function(*args, **kwargs)
    # None: it changes what it is given
    return zip(call.results, tensors((args, kwargs) if result is None else result), strict=False)


class Rerun:
    """Stream values of a recorded run, made anew.

    Weights are looked up when a call is repeated, so that a part may be set between two of them. Batch normalisation
    averages over the inputs of the run, as in train mode.

    Args:
        stream: the tensor that was followed.
        start: the stream value at which derivatives begin; it is cut off from what made it. None without derivatives.
    """

    def __init__(self, stream: torch.Tensor, start: int | None = None) -> None:
        self.values: dict[int, torch.Tensor] = {0: stream.detach()}
        self._start = start
        self._begin(0)

    def run(self, calls: Sequence[RecordedCall]) -> None:
        """Repeat calls, in order.

        Raises:
            DeclarationError: one of them cannot be repeated.
        """
        for call in calls:
            try:
                with torch.set_grad_enabled(self._start is not None):
                    results = made_again(call, self.values)
            except (NotImplementedError, RuntimeError) as error:
                raise DeclarationError(
                    f"the operation {call.name} in {call.inside[-1].name or 'the model'}",
                    f"symres cannot run it again on its own: {on_one_line(error, 160)}",
                    "initialise the module without this operation, or the model before it is compiled",
                ) from error
            for number, made in results:
                self.values[number] = made
                self._begin(number)

    def mean_square(self, number: int) -> float:
        """Of the entries of a stream value."""
        return mean_square(self.values[number])

    def spread(self, number: int, axis: int) -> float:
        """The variance of each neuron of a stream value over inputs and positions, on average."""
        neurons = self.values[number].detach().double().movedim(axis, 0).flatten(1)
        return float(neurons.var(1, correction=0).mean())

    def _begin(self, number: int) -> None:
        if number == self._start:
            self.values[number] = self.values[number].detach().requires_grad_()


@dataclass(frozen=True)
class StreamStep:
    """Calls between two tensors, each of which everything that follows depends on alone.

    Args:
        entry: the number of the tensor that goes in.
        exit: the number of the tensor that comes out.
        calls: in order.
    """

    entry: int
    exit: int
    calls: tuple[RecordedCall, ...]


def stream_steps(record: RunRecord, output: int) -> list[StreamStep]:
    """The steps from the input to a value; no step can be divided.

    A tensor is a place to cut if no call after it uses anything from before it. Calls whose results do not reach the
    output, such as the keys and values that a language model keeps, count for nothing.
    """
    needed, live = {output}, []
    for call in reversed(record.calls):
        if needed.intersection(call.results):
            live.append(call)
            needed.update(call.sources)
    live.reverse()
    last_use: dict[int, int] = {}
    for position, call in enumerate(live):
        last_use.update(dict.fromkeys(call.sources, position))
    steps: list[StreamStep] = []
    begun, entry, reach = 0, 0, last_use.get(0, -1)
    for position, call in enumerate(live):
        alive = [number for number in call.results if last_use.get(number, -1) > position or number == output]
        if reach <= position and len(alive) == 1:
            steps.append(StreamStep(entry, alive[0], tuple(live[begun : position + 1])))
            begun, entry = position + 1, alive[0]
        reach = max([reach, *(last_use.get(number, -1) for number in alive)])
    return steps
