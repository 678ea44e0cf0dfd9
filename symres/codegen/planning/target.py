"""A target as the generator sees it: what it can do, how a plan becomes its text, how that is run and loaded."""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import ModuleType
from typing import Literal, TypeAlias

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ...core.errors import DeclarationError, UnavailableDerivative
from ..emission.emitter import Dialect, NoSpelling
from ..stable.primitives import complement, correlation, determinant
from .module_plan import CurvePlan, ModulePlan
from .network_plan import NetworkPlan, takes_determinant
from .plan import Component, Function

Floats: TypeAlias = NDArray[np.float64]
ArrayFunction: TypeAlias = Callable[..., Floats]  # of arrays or numbers that broadcast


@dataclass(frozen=True)
class Capabilities:
    """What the code of a target can do.

    Args:
        dtypes: the floating types of its arguments and results.
        in_place: whether functions take ``out``, an array that receives the result.
        jit: whether the functions are compiled, or can be by the library.
        gradients: whether results have derivatives in every argument.
        code: "array" if code is generated for whole arrays, "scalar" if for one entry at a time; functions take arrays
            that broadcast in both cases.
        quadrature: whether all averages without a closed form can be integrated when the code runs; a fit of one
            kernel needs no such thing.
        mends: whether they can be where terms of a closed form cancel; if not, digits are lost there.
    """

    dtypes: tuple[str, ...] = ("float64",)
    in_place: bool = False
    jit: bool = False
    gradients: bool = False
    code: Literal["array", "scalar"] = "array"
    quadrature: bool = True
    mends: bool = True


class Target(ABC):
    """A language that modules are written in; one object, ``TARGET``, in a package of ``symres.codegen.targets``.

    A plan has formulas in sympy, with the functions of ``stable/primitives.py``; the target spells them. Errors that a
    module states are measured on what ``run`` returns.

    Attributes:
        name: by which users ask for it.
        title: the name in messages.
        dialect: how operations are spelled; needed unless ``unspelled`` is overridden.
        libraries: the packages that have to be installed where the code is run.
        capabilities: what the code can do.
        has_global_names: whether all modules of a program share one space of names, so that names need a prefix.
        companion_endings: of the names of further files that belong to that of a module.
        ends: why its code of averages of two variables has no numbers at large kernels; empty if it always has.
    """

    name: str
    title: str
    dialect: Dialect
    libraries: tuple[str, ...]
    capabilities: Capabilities
    ends: str = ""
    has_global_names: bool = False
    companion_endings: tuple[str, ...] = ()

    # ---- planning ----------------------------------------------------------------------------------------------

    def unspelled(self, expr: sp.Expr) -> str:
        """The name of a function in an expression that the target has no spelling for; empty if there is none."""
        return self.dialect.unspelled(expr)

    @abstractmethod
    def require(self, function: Function) -> None:
        """Make sure that a function and its components can be written.

        Raises:
            NoSpelling: they cannot.
        """

    def computes(self, average: Component) -> bool:
        """Whether there may be code for a sum of averages without a closed form that is no function of K alone."""
        return self.capabilities.quadrature

    def inlined(self, component: Component) -> sp.Expr | None:
        """What stands in a layer of a network for a component of two inputs; None for a call of its function.

        Its code, so that kernel and tangent kernel share what they have in common. A call has the determinant where
        that is known better than K1, K2 and C tell it.
        """
        code = component.code
        if component.is_plain and isinstance(code, sp.Expr) and not code.has(correlation, complement):
            return code
        return component.call(*component.symbols, determinant) if takes_determinant(component) else None

    # ---- text --------------------------------------------------------------------------------------------------

    @abstractmethod
    def module_text(self, plan: ModulePlan) -> str:
        """The module of some functions."""

    @abstractmethod
    def network_text(self, plan: NetworkPlan) -> str:
        """The module of a network, with the functions ``dual_kernel`` and ``dual_kernel_matrix``.

        Raises:
            DeclarationError: a parameter has a name that the module needs.
        """

    def curve_text(self, plan: CurvePlan) -> str:
        """The module of a function with sums over the powers of a weight.

        Raises:
            NoSpelling: there is no such code.
        """
        raise NoSpelling.of(self.title, plan.whole, "sums over powers")

    def names_in(self, text: str) -> list[str]:
        """The names that a text defines, as often as it does, and those of the language; here of Python."""
        return python_names(text)

    # ---- running -----------------------------------------------------------------------------------------------

    @abstractmethod
    def run(self, component: Component) -> ArrayFunction:
        """The generated function of one component, of NumPy arrays in float64, for measuring its errors."""

    def in_double_precision(self) -> AbstractContextManager:
        """Where public functions compute in float64; a library may have that switched off."""
        return nullcontext()

    @property
    def is_runnable(self) -> bool:
        """Whether what the code needs is installed, so that it can be run here."""
        return not self.lacking

    @property
    def lacking(self) -> list[str]:
        """The libraries that are not installed."""
        return [library for library in self.libraries if not _is_importable(library)]

    def require_libraries(self, name: str) -> None:
        """Refuse to load a module where libraries lack.

        Args:
            name: of the module.

        Raises:
            DeclarationError: one is not installed.
        """
        if lacking := " ".join(self.lacking):
            raise DeclarationError(f"loading {name}", f"not installed: {lacking}", f"pip install {lacking}")

    def load(self, name: str, text: str) -> ModuleType:
        """A generated text as a Python module; here, the text of Python code.

        Raises:
            DeclarationError: what it needs is not installed.
        """
        self.require_libraries(name)
        module = self.new_module(name)
        try:
            exec(compile(text, f"<generated {name}>", "exec"), module.__dict__)
        except BaseException:
            del sys.modules[module.__name__]
            raise
        if hasattr(module, "NoDerivative"):  # the text alone imports nothing of symres
            module.__dict__["NoDerivative"] = UnavailableDerivative
        return module

    @staticmethod
    def new_module(name: str) -> ModuleType:
        """An empty module, known to Python by a name that no other one has."""
        names = (f"symres_generated_{name}_{number}" for number in count(1))
        module = ModuleType(next(candidate for candidate in names if candidate not in sys.modules))
        sys.modules[module.__name__] = module
        return module

    def companions(self, stem: str, text: str) -> dict[str, str]:
        """Further files that belong to a module's text, by ending, where that is written to a file of this stem."""
        return {}

    def is_companion(self, text: str) -> bool:
        """Whether a file beside that of a module is such a further one, by its text."""
        return False


@cache
def _is_importable(library: str) -> bool:
    try:
        importlib.import_module(library)
    except ImportError:
        return False
    return True


def python_names(text: str) -> list[str]:
    """The names that Python code defines at its top level, as often as it does, and those of Python that it calls."""
    tree = ast.parse(text)
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in vars(builtins)}
    names, imported = [], []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [*names, *imported, *(called - {*imported})]  # math.pow is not the language's
