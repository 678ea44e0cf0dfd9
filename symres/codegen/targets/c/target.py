"""The target: what it can do, how its code is compiled, loaded and measured."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ...planning.plan import Component
from ...planning.target import Capabilities
from ...scalar.scalar_target import ScalarTarget
from .compiling import compiler
from .declarations import KEYWORDS, PROTOTYPE, declarations_of, header_of, is_header
from .text import KNOWN, TITLE, component_module, module_text, network_text


class CTarget(ScalarTarget):
    """C99 that needs nothing but the mathematical library."""

    name = "c"
    title = TITLE
    libraries = ("cffi", "threadpoolctl")
    has_global_names = True
    companion_endings = (".h",)
    capabilities = Capabilities(("float64", "float32"), in_place=True, jit=True, code="scalar", mends=False)

    module_text, network_text = staticmethod(module_text), staticmethod(network_text)
    is_companion = staticmethod(is_header)

    def names_in(self, text: str) -> list[str]:
        """The functions that it defines, those of the C library that it calls, and the words of the language."""
        return [*(name for _, name, _ in PROTOTYPE.findall(declarations_of(text))), *KNOWN, *KEYWORDS]

    def companions(self, stem: str, text: str) -> dict[str, str]:
        """The header."""
        return {".h": header_of(text, stem)}

    @property
    def is_runnable(self) -> bool:
        """Whether there is a compiler, and the packages that call what it makes."""
        return super().is_runnable and compiler() is not None

    def compiled(self, component: Component) -> Callable[..., Any]:
        """The compiled function of a component."""
        from .binding import CompiledSource, functions_of

        text = component_module(component)
        (function,) = functions_of(CompiledSource.of("alone", text, fast=False), text).values()
        return function

    def load(self, name: str, text: str) -> ModuleType:
        """A source as a module of functions of NumPy arrays, compiled with the compiler of the system.

        Raises:
            DeclarationError: there is no compiler, it refuses, or a package is not installed.
        """
        self.require_libraries(name)
        from .binding import CompiledSource, functions_of

        module = self.new_module(name)
        found = functions_of(CompiledSource.of(name, text), text)
        module.__dict__.update(found)
        module.__dict__["__all__"] = list(found)
        return module


TARGET = CTarget()
