"""The target: what it can do, and how its code is measured."""

from __future__ import annotations

import numpy as np

from ...planning.module_plan import ModulePlan
from ...planning.network_plan import NetworkPlan
from ...planning.plan import Component
from ...planning.target import ArrayFunction, Capabilities, Floats
from ...scalar.scalar_target import ScalarTarget
from .text import component_module, module_text, network_text


class NumbaTarget(ScalarTarget):
    """Python that Numba compiles, in threads."""

    name = "numba"
    title = "Numba"
    libraries = ("numba",)
    capabilities = Capabilities(("float64", "float32"), in_place=True, jit=True, code="scalar", mends=False)

    def module_text(self, plan: ModulePlan) -> str:
        """The module of some functions."""
        return module_text(plan, self.title)

    def network_text(self, plan: NetworkPlan) -> str:
        """The module of a network."""
        return network_text(plan, self.title)

    def run(self, component: Component) -> ArrayFunction:
        """The compiled function of a component, of NumPy arrays."""
        space: dict[str, ArrayFunction] = {}
        exec(compile(component_module(component), component.name, "exec"), space)
        function = next(f for name, f in space.items() if name.endswith("_alone"))

        def call(*arguments: Floats) -> Floats:
            return np.asarray(function(*arguments))

        return call


TARGET = NumbaTarget()
