"""The target: what it can do, and how its code is measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...planning.plan import Component
from ...planning.target import Capabilities
from ...scalar.scalar_target import ScalarTarget
from .text import TITLE, component_module, module_text, network_text


class NumbaTarget(ScalarTarget):
    """Python that Numba compiles, in threads."""

    name = "numba"
    title = TITLE
    libraries = ("numba", "threadpoolctl")
    capabilities = Capabilities(("float64", "float32"), in_place=True, jit=True, code="scalar", mends=False)

    module_text, network_text = staticmethod(module_text), staticmethod(network_text)

    def compiled(self, component: Component) -> Callable[..., Any]:
        """The compiled function of a component."""
        space: dict[str, Any] = {}
        exec(compile(component_module(component), component.name, "exec"), space)
        return next(f for name, f in space.items() if name.endswith("_alone"))


TARGET = NumbaTarget()
