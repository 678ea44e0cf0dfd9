"""Run the generated code of one component at NumPy arrays, in any target language whose library is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ..planning.language import ArrayFunction, Floats, Language
from ..planning.plan import Component
from ..targets.numpy.dialect import NUMPY_LANGUAGE

Integrate = Callable[..., Floats]  # (rule, few, f, g, entries, K1, K2, C, ...) -> one value for each of the entries


@cache
def is_runnable(language: Language) -> bool:
    """Whether the library that a language computes with is installed."""
    try:
        importlib.import_module(language.library)
    except ImportError:
        return False
    return True


def run(component: Component, language: Language = NUMPY_LANGUAGE) -> ArrayFunction:
    """The component's generated function, of NumPy arrays; averages of equal entries are integrated once."""
    space: dict[str, ArrayFunction] = {}
    exec(compile(language.standalone(component), component.name, "exec"), space)
    if "_by_quadrature" in space:
        space["_by_quadrature"] = _once(space["_by_quadrature"])
    return partial(language.call, space[component.name])


def _once(integrate: Integrate) -> Integrate:
    """A rule for entries, which computes equal ones once: what the measured matrices have many of."""

    def wrapped(
        rule: object, few: int, f: object, g: object, some: NDArray[np.intp], *kernels_and_parameters: Floats
    ) -> Floats:
        columns = np.stack([column[some] for column in kernels_and_parameters[:3]])
        _, first, place = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        return integrate(rule, few, f, g, some[first], *kernels_and_parameters)[place.reshape(-1)]

    return wrapped
