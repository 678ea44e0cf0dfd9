"""symres: symbolic derivation of the theory of deep networks.

>>> import symres as sr
>>> theory = sr.derive(sr.residual("gelu"))
>>> theory.critical_points[0].K
3/2 + sqrt(17)/2

The public names stand in ``__init__.pyi``; each is imported when it is first asked for.
The README lists the rooms, from ``core`` to ``cli``, under "Where everything lives".
"""

import sys
from types import ModuleType

import lazy_loader

from .core.display import provide
from .core.foreign import CONSTANTS, THEORIES, Reader, accept

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


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
