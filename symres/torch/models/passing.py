"""A pass of a model whose own mistakes are one clear error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError
from .wording import first_line

# what the code of a model raises for inputs that it cannot take, or by a mistake of its own
_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@contextmanager
def passing(model: nn.Module) -> Iterator[None]:
    """Around a call of a model.

    Raises:
        DeclarationError: the model raised; memory that does not suffice is left to who can ask for less.
    """
    try:
        yield
    except (SymresError, torch.cuda.OutOfMemoryError):
        raise
    except _MISTAKES as error:
        raise DeclarationError(
            f"a pass of {type(model).__name__}",
            f"it raised {type(error).__name__}: {first_line(error)}",
            "pass inputs that it takes: a tensor, a tuple by position, a dict by name",
        ) from error
