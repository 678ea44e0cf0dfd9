"""The tangent kernel of a model with its present weights: one call."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...core.progress import Progress, reported
from ...core.scalars import whole
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.choosing import ModuleChoice, choose_modules
from ..models.keeping import kept, required_module, seeded
from ..models.structures import mean_square
from ..models.wording import passing
from ..reading.read_model import reading_of_run
from .kernel_comparison import TangentKernel
from .parameter_jacobians import Groups, kernel_shares
from .tangent_theory import tangent_theory

_MOST_READ = 16  # inputs on which the model is read
_ALL, _OTHERS = "all parameters", "other parameters"


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
    one, other = CallArguments.of(X1), None if X2 is None else CallArguments.of(X2)
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    label, redrawn = type(model).__name__, whole(networks, "networks", 0)
    if not trained:
        raise DeclarationError(f"the tangent kernel of {label}", "no parameter requires gradients", "unfreeze some")
    groups = _groups(model, trained, blocks)
    expected, reason = _expected(model, one, other, trained, seed) if theory else (None, "switched off by theory=False")
    draws = redrawn if expected is not None else 0
    found: list[dict[str, np.ndarray]] = []
    prepared = kept(model, train=False, dtype=None, device=None)
    with reported(progress, "tangent kernel") as report, seeded(seed), prepared:
        parameters = {name: model.get_parameter(name).detach().clone() for name in trained}
        for number in range(1 + draws):
            step = lambda share, number=number: report("derivatives", (number + share) / (1 + draws))  # noqa: E731
            drawn = parameters if number == 0 else {n: _redrawn(p) for n, p in parameters.items()}
            asked = groups if number == 0 else {_ALL: frozenset(trained)}
            with passing(model):
                shares, outputs = kernel_shares(model, drawn, one, other, asked, step)
            found.append(shares)
    count = sum(parameter.numel() for parameter in parameters.values())
    kernels = [np.sum(list(shares.values()), axis=0) for shares in found]
    parts = found[0] if blocks is not None else {}
    scatter = np.std(kernels[1:], axis=0, ddof=1) if draws > 1 else None
    return TangentKernel(label, kernels[0], parts, outputs, count, expected, scatter, draws, reason)


def _groups(model: nn.Module, trained: list[str], blocks: ModuleChoice) -> Groups:
    """Names of parameters by block, and those in none."""
    if blocks is None:
        return {_ALL: frozenset(trained)}
    found: dict[str, frozenset[str]] = {}
    left = dict.fromkeys(trained)
    for block, module in choose_modules(model, blocks).modules.items():
        inside = {id(parameter) for parameter in module.parameters()}
        found[block] = frozenset(name for name in left if id(model.get_parameter(name)) in inside)
        left = {name: None for name in left if name not in found[block]}
    return found | ({_OTHERS: frozenset(left)} if left else {})


def _redrawn(parameter: torch.Tensor) -> torch.Tensor:
    return torch.randn_like(parameter) * math.sqrt(mean_square(parameter))


def _expected(
    model: nn.Module, one: CallArguments, other: CallArguments | None, trained: list[str], seed: int
) -> tuple[np.ndarray | None, str]:
    """The kernel of the theory, or why there is none."""
    vectors = [one.followed, (one if other is None else other).followed]
    if any(tensor.ndim != 2 or not tensor.is_floating_point() for tensor in vectors):
        return None, "the inputs are not vectors"
    rows = [tensor.detach().double().cpu().numpy() for tensor in vectors]
    try:
        _, some = next(one.parts(_MOST_READ))
        return tangent_theory(reading_of_run(model, some, True, seed), trained, rows[0], rows[1]), ""
    except SymresError as error:
        return None, error.found
