"""JAX as a target; the library is imported when code is run, not when it is written."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...arrays.array_code import Wording
from ...arrays.array_target import HERMITE, SEARCHES, SHARED, SLOPED, ZEROS
from ...arrays.differentiable_target import DifferentiableTarget
from ...arrays.runtime_library import RuntimeLibrary
from ...arrays.smooth_functions import smooth_pairs
from ...emission.emitter import NoSpelling
from ...planning.module_plan import CurvePlan
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Component
from ...planning.target import ArrayFunction, Capabilities, Floats
from ...wording import docstrings
from .components import JAX, component_source

_SHORTEST = 1024  # entries that are measured at a time: for each number of entries the code is compiled once
_SHORTEST_SERIES = 16  # the same of averages, where an entry takes longer
_X64 = (
    'float64 needs jax.config.update("jax_enable_x64", True), which this module leaves to you; without it all is '
    "float32."
)


class JaxTarget(DifferentiableTarget):
    """Functions of JAX arrays, which its transformations compile, map and differentiate."""

    name, title, libraries = "jax", "JAX", ("jax",)
    capabilities = Capabilities(dtypes=("float32", "float64"), jit=True, gradients=True, quadrature=False, mends=False)
    dialect = JAX
    runtime = RuntimeLibrary.read(SHARED, SEARCHES, ZEROS, SLOPED, HERMITE, Path(__file__).parent / "runtime")
    imports = (
        {
            "collections": "import collections",
            "contextlib": "import contextlib",
            "functools": "import functools",
            "math": "import math",
        },
        {"jax": "import jax", "jnp": "import jax.numpy as jnp"},
        {"special": "special = jax.scipy.special", "xp": "xp = jnp"},
    )
    words = Wording(
        argument="array or number",
        array="array",
        numbers="",
        result="array of the broadcast shape, of the arguments' floating type (numbers alone: the widest one).",
        results="two arrays of the broadcast shape, of the arguments' floating type (numbers alone: the widest one): "
        "the kernel of the Gaussian process and the tangent kernel. With ``every_layer`` they have a leading axis: "
        "entry l is that after l layers, entry 0 the input.",
        curve="array of the broadcast shape.",
        features="array",
        matrices="two arrays of shape (N, M), of the type of the inputs",
        precision="Arrays broadcast; everything is computed in their precision. Differentiable.",
        head=(
            docstrings.ORDER,
            f"Arrays broadcast; results are of the type of the arrays, float32 or float64. {_X64} Errors are those of "
            "float64, measured on {code}, compiled by jax.jit, against ball arithmetic.",
            "jax.jit, jax.vmap, jax.grad and jax.hessian apply to all functions but searches. Gradients are finite on "
            "the diagonal C = K1 = K2 (where both functions jump, they diverge towards it).",
            docstrings.UNITS,
        ),
        averages="Computed as a series in the correlation, in the widest floating type that is switched on, with "
        "coefficients shared by all entries of a kernel, and as many blocks of 32 terms as the worst entry needs; "
        "where 1024 are too few, by sums in the plane, a few entries at a time. A value is nan where the functions "
        "change faster than nodes see, whose number is fixed. The same holds for derivatives.",
    )
    ends = "the functions change faster than nodes see, whose number is fixed in compiled code"

    # ---- code --------------------------------------------------------------------------------------------------

    def computes(self, average: Component) -> bool:
        """Whether averages are series: those of smooth functions."""
        return bool(smooth_pairs(average))

    source = staticmethod(component_source)

    def network_notes(self, plan: NetworkPlan) -> tuple[str, ...]:
        """On which code errors were measured, and what the types are."""
        code = docstrings.measured_code(plan.components, self.title)
        measured = f"Errors are those of float64, measured on {code}, compiled by jax.jit, against ball arithmetic."
        narrow = "In float32 squares of kernels have to be floats: 1e-18 to 1e18, of all layers."
        return f"{_X64} {narrow}", measured

    def curve_text(self, plan: CurvePlan) -> str:
        """Refused: the number of terms depends on the weight.

        Raises:
            NoSpelling: always.
        """
        raise NoSpelling(
            f"{self.title} code for {plan.quantity.name}",
            "sums over the powers of a weight, whose number depends on the weight, need another target",
            "export it for NumPy or PyTorch",
        )

    # ---- running -----------------------------------------------------------------------------------------------

    def in_double_precision(self) -> AbstractContextManager:
        """Where JAX has float64."""
        try:
            from jax import enable_x64
        except ImportError:  # before JAX 0.8
            from jax.experimental import enable_x64
        return enable_x64(True)

    def run(self, component: Component) -> ArrayFunction:
        """The component's generated function, compiled, of NumPy arrays."""
        if component.code is not None:
            return super().run(component)
        space: dict[str, ArrayFunction] = {}
        exec(compile(self.standalone(component), component.name, "exec"), space)
        return partial(self._compiled, space[component.name], _SHORTEST_SERIES)

    def call(self, function: ArrayFunction, *arguments: ArrayLike) -> Floats:
        """The value of a compiled function of arrays at NumPy arrays."""
        return self._compiled(function, _SHORTEST, *arguments)

    def _compiled(self, function: ArrayFunction, shortest: int, *arguments: ArrayLike) -> Floats:
        """The same; entries are repeated up to a power of 2, so that few lengths are compiled."""
        import jax  # where it is installed

        columns = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
        shape, size = columns[0].shape, columns[0].size
        length = max(shortest, 1 << (size - 1).bit_length())
        with self.in_double_precision():
            value = np.asarray(jax.jit(function)(*(np.resize(column, length) for column in columns)))
        return np.broadcast_to(value, (length,))[:size].reshape(shape).copy()


TARGET = JaxTarget()
