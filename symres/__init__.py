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

from .core.display import provide
from .core.errors import SymresError
from .core.foreign import CONSTANTS, THEORIES, Reader, accept

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


def _views() -> ModuleType:
    """Pages and summaries of theories: the rooms below ask for them, and must not see the room that draws them."""
    from .report import views

    return views


def _reader_of_torch() -> Reader:
    """Modules and functions of PyTorch as activations; the room that reads them is the only one to import it."""
    from .torch.activations.conversion import read

    return read


def _reader_of_constants() -> Reader:
    """Formulas without z as numbers: ``1/sqrt(2)``."""
    from .activations.catalogue import constant

    return constant


def _reader_of_theories() -> Reader:
    """Layers, activations and texts as theories, for rooms that must not see how they are derived."""
    from .theory.theory import derive

    return derive


sys.modules[__name__].__class__ = _Public
provide(_views)
accept("torch", _reader_of_torch)
accept(CONSTANTS, _reader_of_constants)
accept(THEORIES, _reader_of_theories)
