"""PyTorch as a target; the library is imported when code is run, not when it is written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...arrays.array_code import Wording
from ...arrays.array_target import HERMITE, SEARCHES, SHARED, SLOPED, ZEROS
from ...arrays.differentiable_target import DifferentiableTarget
from ...arrays.runtime_library import RuntimeLibrary
from ...arrays.smooth_functions import smooth_pairs
from ...averages.singular_slopes import NEAREST
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Function
from ...planning.target import ArrayFunction, Capabilities, Floats
from ...wording import docstrings
from .components import TORCH, component_source

DIGEST = "DIGEST_OF_THIS_TEXT"


class TorchTarget(DifferentiableTarget):
    """Functions of tensors, differentiable in every argument."""

    name, title, libraries = "torch", "PyTorch", ("torch",)
    capabilities = Capabilities(dtypes=("float32", "float64"), jit=True, gradients=True)
    dialect = TORCH
    runtime = RuntimeLibrary.read(SHARED, SEARCHES, ZEROS, SLOPED, HERMITE, Path(__file__).parent / "runtime")
    imports = (
        {name: f"import {name}" for name in ("collections", "functools", "math")},
        {"torch": "import torch"},
        {"special": "special = torch.special", "xp": "xp = torch"},
    )
    words = Wording(
        argument="tensor or number",
        array="tensor",
        numbers="",
        result="Tensor of the broadcast shape, of the arguments' floating type (numbers alone: float64).",
        results="two tensors of the broadcast shape, of the arguments' floating type (numbers alone: float64): the "
        "kernel of the Gaussian process and the tangent kernel. With ``every_layer`` they have a leading axis: entry l "
        "is that after l layers, entry 0 the input. Computed in float64.",
        curve="tensor of the broadcast shape.",
        features="tensor",
        matrices="two tensors of shape (N, M), of the type of the inputs",
        precision="Tensors broadcast; everything is computed in their precision, float64 for numbers. Differentiable.",
        head=(
            docstrings.ORDER,
            "Tensors broadcast; results are of the type of the tensors, float32 or float64, powers of kernels inside "
            "always float64. Errors are those of float64, measured on {code}, against ball arithmetic.",
            "Results are differentiable in every argument: closed forms, polynomials and averages of pairs of smooth "
            "functions arbitrarily often, other averages by quadrature once; further derivatives raise an error. "
            "Gradients are finite on the diagonal C = K1 = K2 (where both functions jump, they diverge towards it and "
            f"are cut off within {float(NEAREST):g} of it).",
            docstrings.UNITS,
        ),
    )

    # ---- code --------------------------------------------------------------------------------------------------

    source = staticmethod(component_source)

    def function_notes(self, function: Function) -> tuple[str, ...]:
        """How often results can be differentiated, where that is not without end."""
        if any(c.code is None and not smooth_pairs(c) for c in function.components):
            return ("Differentiable once: a second derivative is a NoDerivative error.",)
        if any(c.fallback_integral is not None for c in function.components):
            return (
                "Differentiable once where the terms of the closed form cancel: there a second derivative is a "
                "NoDerivative error.",
            )
        return ()

    def network_notes(self, plan: NetworkPlan) -> tuple[str, ...]:
        """On which code errors were measured, and what depends on data."""
        code = docstrings.measured_code(plan.components, self.title)
        measured = f"Errors are those of float64, measured on {code}, against ball arithmetic."
        mapped = "The steps taken depend on the data, so that torch.func.vmap cannot map it: pass whole arrays."
        return (measured, mapped) if plan.is_sharp else (measured,)

    def finished(self, text: str) -> str:
        """A text with a digest of it in the names of its operators: no other text has them."""
        return text.replace(DIGEST, hashlib.sha256(text.encode()).hexdigest()[:12])

    # ---- running -----------------------------------------------------------------------------------------------

    def call(self, function: ArrayFunction, *arguments: ArrayLike) -> Floats:
        """The value of a function of tensors at NumPy arrays, without a gradient."""
        import torch  # where it is installed

        with torch.no_grad():
            value = function(*(torch.as_tensor(np.asarray(a, dtype=np.float64)) for a in arguments))
            return np.asarray(torch.as_tensor(value))


TARGET = TorchTarget()
