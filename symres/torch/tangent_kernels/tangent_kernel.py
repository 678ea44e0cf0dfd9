"""The tangent kernel of a model with its present weights: one call. Derivatives of outputs in the parameters.

Beside it that of the model as it was read, at infinite width, in PyTorch's parametrisation. There weights are not
scaled: a dense layer of u with n inputs adds ``n <u u'>`` by its weights and 1 by its biases to the kernel that its
inputs bring along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
import torch
from torch import nn
from torch.func import functional_call, jacrev

from ...core.errors import DeclarationError, SymresError
from ...core.progress import Progress, reported
from ...core.scalars import whole
from ...core.symbols import K1, K2, C, K, Theta
from ...layers.layer import Layer
from ...layers.program import Draw
from ...theory.theory import derive
from ...theory.walk.tangent import tangent
from ..models.call_arguments import CallArguments, Inputs, first_tensor, mean_square
from ..models.choosing import ModuleChoice, choose_modules
from ..models.keeping import kept, passing, required_module, seeded
from ..reading.model_reading import Reading
from ..reading.read_block import compiled_expressions
from ..reading.read_model import reading_of_run
from .kernel_comparison import TangentKernel

_MOST_READ = 16  # inputs on which the model is read
_ALL, _OTHERS = "all parameters", "other parameters"
_EQUAL = 1e-12  # of 1 - the cosine of two inputs: below it is rounding
_KEPT = 64  # compiled layers: more than one model has
_NUMBERS = 2**26  # of derivatives that are held at a time, half a gigabyte of doubles

Parameters = Mapping[str, torch.Tensor]
Groups = Mapping[str, frozenset[str]]
PairState = tuple[float, float, float, float]  # K1, K2, C and Theta of two inputs


def tangent_kernel(
    model: nn.Module,
    X1: Inputs,
    X2: Inputs | None = None,
    *,
    blocks: ModuleChoice = None,
    theory: bool = True,
    networks: int = 8,
    seed: int = 0,
    progress: bool | Progress = True,
) -> TangentKernel:
    """The empirical tangent kernel, in PyTorch's own parametrisation, beside that of the theory.

    ``Theta(x, y) = (1/n) sum_i sum_p (df_i(x)/dp) (df_i(y)/dp)`` over the n outputs f_i and all parameters p that ask
    for gradients, in evaluation mode. Derivatives are those of ``torch.func``, block by block of as many inputs as fit
    into memory, input by input, so that any model and any inputs will do.

    Args:
        model: an ``nn.Module``.
        X1: inputs: a tensor, a tuple (by position) or a mapping (by name); the first axis counts them.
        X2: other ones; None: the same.
        blocks: modules whose parameters' shares are told apart: types (``nn.Linear`` for each layer), patterns of
            names, or a function (see ``choose_modules``); None: none. A parameter counts for the first module with it.
        theory: whether the kernel at infinite width is computed where all of the model is read (``st.read``) as layers
            of vectors.
        networks: with weights drawn afresh, whose scatter is told beside the theory; 0: none.
        seed: of these.
        progress: whether a bar is shown, or a function that is told what is being done and which share is done.

    Raises:
        DeclarationError: an argument cannot be used; no parameter asks for gradients; or the model has no
            floating-point output.

    Source:
        Jacot, Gabriel and Hongler (2018); without factors 1/sqrt(n) before weights, as PyTorch has them.

    Examples:
        For ``f(x) = w.x + b`` the tangent kernel is ``x.y + 1``:

        >>> inputs = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
        >>> st.tangent_kernel(torch.nn.Linear(2, 1), inputs, theory=False, progress=False).matrix.tolist()
        [[2.0, 2.0], [2.0, 3.0]]
    """
    required_module(model)
    one = CallArguments.of(X1)
    other = one if X2 is None else CallArguments.of(X2)
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    label, redrawn = type(model).__name__, whole(networks, "networks", 0)
    if not trained:
        raise DeclarationError(f"the tangent kernel of {label}", "no parameter requires gradients", "unfreeze some")
    groups = _groups(model, trained, blocks)
    expected, reason = _expected(model, one, other, trained, seed) if theory else (None, "switched off by theory=False")
    draws = redrawn if expected is not None else 0
    prepared = kept(model, train=False)
    with reported(progress, "tangent kernel") as report, seeded(seed), prepared, passing(model):
        weights = {name: model.get_parameter(name).detach().clone() for name in trained}

        def kernels(number: int, parameters: Parameters, groups: Groups) -> tuple[dict[str, np.ndarray], int]:
            step = lambda share: report("derivatives", (number + share) / (1 + draws))  # noqa: E731
            return _kernel_shares(model, parameters, one, other, groups, step)

        shares, outputs = kernels(0, weights, groups)
        drawn = []
        for number in range(1, 1 + draws):
            fresh = {name: torch.randn_like(w) * math.sqrt(mean_square(w)) for name, w in weights.items()}
            drawn.append(kernels(number, fresh, {_ALL: frozenset(trained)})[0][_ALL])
    count = sum(parameter.numel() for parameter in weights.values())
    matrix = np.sum(list(shares.values()), axis=0)
    scatter = np.std(drawn, axis=0, ddof=1) if draws > 1 else None
    parts = shares if blocks is not None else {}
    return TangentKernel(label, matrix, parts, outputs, count, expected, scatter, draws, reason)


def _groups(model: nn.Module, trained: list[str], blocks: ModuleChoice) -> Groups:
    """Names of parameters by block, and those in none."""
    if blocks is None:
        return {_ALL: frozenset(trained)}
    groups: dict[str, frozenset[str]] = {}
    left = dict.fromkeys(trained)
    for block, module in choose_modules(model, blocks).modules.items():
        inside = {id(parameter) for parameter in module.parameters()}
        groups[block] = frozenset(name for name in left if id(model.get_parameter(name)) in inside)
        left = {name: None for name in left if name not in groups[block]}
    return groups | ({_OTHERS: frozenset(left)} if left else {})


def _expected(
    model: nn.Module, one: CallArguments, other: CallArguments, trained: list[str], seed: int
) -> tuple[np.ndarray | None, str]:
    """The kernel of the theory, or why there is none."""
    vectors = [one.followed, other.followed]
    if any(tensor.ndim != 2 or not tensor.is_floating_point() for tensor in vectors):
        return None, "the inputs are not vectors"
    rows = [tensor.detach().double().cpu().numpy() for tensor in vectors]
    try:
        _, first = next(one.parts(_MOST_READ))
        return _theory(reading_of_run(model, first, True, seed), trained, *rows), ""
    except SymresError as error:
        return None, error.found


def _kernel_shares(
    model: nn.Module,
    parameters: Parameters,
    one: CallArguments,
    other: CallArguments,
    groups: Groups,
    report: Callable[[float], None],
) -> tuple[dict[str, np.ndarray], int]:
    """The kernel of the parameters of each group, shape (inputs x, inputs y), and the number of outputs of an input."""
    outputs = next(iter(_rows(model, parameters, next(one.parts(1))[1]).values())).shape[0]
    most = max(1, _NUMBERS // (outputs * sum(p.numel() for p in parameters.values())))
    shares = {name: np.zeros((one.size, other.size)) for name in groups}
    for rows, some in one.parts(most):
        left = _stacked(model, parameters, some)
        for columns, others in other.parts(most):
            if other is one and columns.start < rows.start:
                continue  # the matrix is symmetric
            right = left if other is one and columns == rows else _stacked(model, parameters, others)
            for group, names in groups.items():
                products = (torch.einsum("aop,bop->ab", left[name], right[name]) for name in names)
                block = sum(np.asarray(product.double().cpu()) for product in products) / outputs
                shares[group][rows, columns] = block
                if other is one:
                    shares[group][columns, rows] = np.transpose(block)
        report(rows.stop / one.size)
    return shares, outputs


def _stacked(model: nn.Module, parameters: Parameters, arguments: CallArguments) -> dict[str, torch.Tensor]:
    """Derivatives of the outputs of some inputs, shape (inputs, outputs, entries), by parameter."""
    rows = [_rows(model, parameters, each) for _, each in arguments.parts(1)]
    return {name: torch.stack([row[name] for row in rows]) for name in parameters}


def _rows(model: nn.Module, parameters: Parameters, arguments: CallArguments) -> dict[str, torch.Tensor]:
    """Derivatives of all outputs of one input, shape (outputs, entries), by parameter."""

    def outputs(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        copies = arguments.map(torch.clone)
        tensor = first_tensor(functional_call(model, weights, copies.args, dict(copies.kwargs)))
        if tensor is None:
            asked, remedy = f"the tangent kernel of {type(model).__name__}", "pass a model with floating-point outputs"
            raise DeclarationError(asked, "it returns no floating-point numbers", remedy)
        return tensor.reshape(-1)

    try:
        derivatives = jacrev(outputs)(dict(parameters))
    except (RuntimeError, NotImplementedError):  # an operation that torch.func has no rule for
        leaves = {name: p.detach().clone().requires_grad_() for name, p in parameters.items()}
        with torch.enable_grad():
            rows = [
                torch.autograd.grad(entry, list(leaves.values()), retain_graph=True, materialize_grads=True)
                for entry in outputs(leaves)
            ]
        derivatives = dict(zip(leaves, map(torch.stack, zip(*rows, strict=True)), strict=True))
    return {name: matrix.detach().flatten(1) for name, matrix in derivatives.items()}


def _theory(reading: Reading, trained: Collection[str], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The kernel of pairs of inputs, nan for opposite ones.

    Args:
        reading: of the model.
        trained: names of the parameters that are differentiated.
        one: inputs, shape (inputs, entries).
        other: likewise.

    Raises:
        DeclarationError: parts of the model stay measured, positions are mixed, weights are shared, or parameters are
            trained that are neither weights nor biases of the layers.
    """
    asked = f"the tangent kernel of {reading.model} at infinite width"
    layers = [(reading.blocks[number], which) for number, which in reading.order]
    unknown = [block.place or block.text for block, _ in layers if not block.is_known or block.attention]
    dense = {d.name for block, which in layers if block.dense for d in block.dense[which]}
    others = sorted(set(trained) - {f"{name}.{kind}" for name in dense for kind in ("weight", "bias")})
    for problem, names in (("symres has no theory for some parts", unknown), ("layers share weights", reading.shared),
                           ("some trained parameters are not of a dense layer", others)):  # fmt: skip
        if names:
            raise DeclarationError(asked, f"{problem}: {', '.join(names[:4])}", "compare with other networks instead")
    kernel = np.full((len(one), len(other)), np.nan)
    for i, j in np.ndindex(kernel.shape):
        pair = np.stack([one[i], other[j]])
        (k1, c), (_, k2) = pair @ pair.T / pair.shape[1]
        state: PairState = (float(k1), float(k2), float(c), 0.0)
        try:
            for block, which in layers:
                numbers = dict(block.numbers[which])
                for d in block.dense[which]:
                    rates = {f"weight_{d.symbols[0]}": d.fan_in * (f"{d.name}.weight" in trained)}
                    numbers |= {**rates, f"bias_{d.symbols[0]}": float(f"{d.name}.bias" in trained)}
                assert block.form is not None
                state = _step_of(block.form)(state, numbers)
            kernel[i, j] = state[3]
        except SymresError:
            continue
    return kernel


@lru_cache(_KEPT)
def _step_of(form: Layer) -> Callable[[PairState, Mapping[str, float]], PairState]:
    """The state behind a layer from that before it and the numbers of its parameters, compiled once for each."""
    walks, parameters = derive(form).walks, set(form.parameters)

    def rates(draw: Draw) -> tuple[sp.Expr, sp.Expr]:
        symbol = sp.sympify(draw.C_W)
        weight, bias = (sp.Symbol(f"{kind}_{symbol}") for kind in ("weight", "bias"))
        parameters.update((weight, bias))
        return weight / symbol, bias / draw.C_b if draw.C_b != 0 else sp.Integer(0)

    of_one = walks.tangent(Theta, rates)
    alone = compiled_expressions(walks.one.assignments, walks.next_kernel, of_one)
    of_both = tangent(walks.two, *walks.pair, {walks.pair: Theta}, rates)
    both = compiled_expressions(walks.two.assignments, walks.next_covariance, of_both)

    def step(state: PairState, numbers: Mapping[str, float]) -> PairState:
        k1, k2, c, theta = state
        values = {symbol: numbers[symbol.name] for symbol in parameters} | {Theta: theta}
        after, tangent_of_one = alone({**values, K: k1})
        if abs(c - (k1 * k2) ** 0.5) <= _EQUAL * abs(c) and abs(k1 - k2) <= _EQUAL * k1:
            return float(after), float(after), float(after), float(tangent_of_one)
        other, _ = alone({**values, K: k2})
        covariance, tangent_of_both = both({**values, K1: k1, K2: k2, C: c})
        return float(after), float(other), float(covariance), float(tangent_of_both)

    return step
