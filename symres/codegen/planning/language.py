"""A target language as the generator sees it: how components and functions are written in it, and how they are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..emission.emitter import Dialect, Source
from .plan import Component, Function

Floats: TypeAlias = NDArray[np.float64]
ArrayFunction: TypeAlias = Callable[..., Floats]  # of arrays or numbers that broadcast


def call_directly(function: ArrayFunction, *arguments: ArrayLike) -> Floats:
    """The value of a function that takes NumPy arrays itself."""
    return function(*arguments)


@dataclass(frozen=True, eq=False)  # each is one of a kind
class Language:
    """A target language.

    Args:
        library: the package that generated code computes with; the template is called after it.
        dialect: how operations are spelled.
        component_source: the code of a component.
        function_source: the body of a public function.
        standalone: a module with one component alone, for measuring its error.
        always_called: text with the helper functions that every module calls.
        call: evaluates a function of such a module at NumPy arrays, in float64.
    """

    library: str
    dialect: Dialect
    component_source: Callable[[Component], Source]
    function_source: Callable[[Function], tuple[str, ...]]
    standalone: Callable[[Component], str]
    always_called: tuple[str, ...] = ()
    call: Callable[..., Floats] = call_directly

    @property
    def name(self) -> str:
        """The name of the language in messages."""
        return self.dialect.name
