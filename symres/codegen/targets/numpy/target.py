"""NumPy as a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import sympy as sp
from numpy.typing import ArrayLike

from ...arrays.array_code import Definition, Wording
from ...arrays.array_target import FEATURE_ROWS, HERMITE, SEARCHES, SHARED, ZEROS, ArrayTarget
from ...arrays.runtime_library import RuntimeLibrary
from ...emission.emitter import Emitter, Source, variable
from ...planning.plan import Component, Function
from ...planning.target import ArrayFunction, Capabilities, Floats
from ...wording import docstrings
from .components import NUMPY, component_source, function_lines, function_tile, measured_tile, public_body


class NumpyTarget(ArrayTarget):
    """Functions of NumPy arrays, in tiles that stay in the cache where there are closed forms."""

    name, title, libraries = "numpy", "NumPy", ("numpy",)
    capabilities = Capabilities(in_place=True)
    dialect = NUMPY
    runtime = RuntimeLibrary.read(SHARED, SEARCHES, ZEROS, HERMITE, FEATURE_ROWS, Path(__file__).parent / "runtime")
    imports = (
        {name: f"import {name}" for name in ("collections", "functools", "math")},
        {"np": "import numpy as np", "special": "from scipy import special"},
        {"xp": "xp = np"},
    )
    words = Wording(
        argument="array_like",
        array="float64 array",
        numbers=" (a number if all arguments are numbers)",
        result="float64 array of the broadcast shape (a float if all arguments are numbers), or ``out``.",
        results="two float64 arrays of the broadcast shape (floats if all arguments are numbers): the kernel of the "
        "Gaussian process and the tangent kernel. With ``every_layer`` they have a leading axis: entry l is that "
        "after l layers, entry 0 the input.",
        curve="float64 array of the broadcast shape (a float if all arguments are numbers).",
        features="array_like",
        matrices="two float64 arrays of shape (N, M)",
        precision="Arrays broadcast; everything is computed in float64.",
        head=(
            docstrings.ORDER,
            "Arrays broadcast; everything is computed in float64. Errors are measured against ball arithmetic.",
            docstrings.UNITS,
        ),
    )

    # ---- code --------------------------------------------------------------------------------------------------

    source = staticmethod(component_source)

    def component_definitions(self, component: Component, source: Source) -> list[Definition]:
        """The tile function of a component, and what prepares it."""
        tile, listed = source.tile, ", ".join(map(variable, component.symbols))
        if tile is None:
            return []
        factor = f"/({tile.factor})" if tile.factor != 1 else ""
        what = f"{component.name}{factor} of a part of a matrix, put to scratch[0]"
        about = f"{what}; adds to ``fine`` where no digits are lost."
        return [
            Definition(f"{component.name}_axes({listed})", tile.axes, ["What depends on one kernel alone."]),
            Definition(f"{component.name}_tile({listed}, axes, scratch, fine)", tile.lines, [about]),
        ]

    def measured_definitions(self, component: Component, source: Source) -> list[Definition]:
        """The component in tiles, and by its own function where those lose digits: as public functions compute it."""
        return [] if source.tile is None else [Definition(*found) for found in measured_tile(component, source.tile)]

    def function_definitions(self, function: Function) -> tuple[Sequence[str], Sequence[Definition]]:
        """The body of a public function, the blockwise function behind it, and its tile function."""
        tile, name = function_tile(function), f"_{function.quantity.name}"
        listed = ", ".join(map(variable, function.arguments))
        found = [Definition(f"{name}({listed})", function_lines(function))]
        if tile is not None:
            found.append(Definition(f"{name}_axes({listed})", tile.axes))
            found.append(Definition(f"{name}_tile({listed}, axes, scratch, fine)", tile.lines))
        return public_body(function, tile), found

    def lines(self, names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]], like: str) -> list[str]:
        """Assignments that compute results."""
        return Emitter(NUMPY, names).function(results)

    # ---- running -----------------------------------------------------------------------------------------------

    def call(self, function: ArrayFunction, *arguments: ArrayLike) -> Floats:
        """The value of a function of the module at NumPy arrays."""
        return function(*arguments)


TARGET = NumpyTarget()
