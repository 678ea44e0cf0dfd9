"""symres: symbolic derivation of the theory of deep networks.

>>> import symres as sr
>>> theory = sr.derive(sr.residual("gelu"))
>>> theory.critical_points[0].K
3/2 + sqrt(17)/2

The public names stand in ``__init__.pyi``; each is imported when it is first asked for, and so are the rooms
``symres.kernels`` and ``symres.torch``. docs/architecture.md lists all rooms, from ``core`` to ``cli``.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

import lazy_loader

from .core.errors import SymresError
from .core.foreign import CONSTANTS, LITERATURE, THEORIES, VIEWS, accept

__version__ = "0.1.0"
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_ROOMS = ("kernels", "torch")  # for users, besides the names in __all__


def __getattr__(name: str) -> Any:
    """A public name, or a room for users, imported now."""
    if name in _ROOMS:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except SymresError as error:  # the library that it serves is missing
            raise AttributeError(str(error)) from None
    if name in __all__ or name.startswith("_"):
        return _public(name)
    from .activations.formula_parser import nearest

    guess = nearest(name, [*__all__, *_ROOMS]) or "dir(symres) lists its names"
    raise AttributeError(f"module 'symres' has no attribute '{name}'; {guess}")


class _Public(ModuleType):
    """A package whose public names win over rooms of the same name: ``symres.check`` is the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):  # what the import of a room would bind
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Public
accept(VIEWS, f"{__name__}.report.views:")  # pages and summaries of theories
accept(LITERATURE, f"{__name__}.literature.cited_verdicts:cited")  # equations with the verdicts on them
accept("torch", f"{__name__}.torch.activations.conversion:read")  # modules and functions of PyTorch as activations
accept(CONSTANTS, f"{__name__}.activations.catalogue:constant")  # formulas without z as numbers: 1/sqrt(2)
accept(THEORIES, f"{__name__}.theory.theory:derive")  # layers, activations and texts as theories
