"""What is said of modules and of errors; a pass of a model whose own mistakes are one clear error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

import torch
from torch import nn

from ...core.errors import DeclarationError, SymresError

# what the code of a model raises for inputs that it cannot take, or by a mistake of its own
_MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def first_line(error: BaseException) -> str:
    """What an error says first; its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def on_one_line(error: BaseException, most: int = 200) -> str:
    """What an error says, on one line of so many characters; its type where it says nothing."""
    return " ".join(str(error).split())[:most] or type(error).__name__


def module_in_words(name: str, module: nn.Module) -> str:
    """A module by its qualified name, if it has one, and its type."""
    return f"{name} ({type(module).__name__})" if name else type(module).__name__


def some_of(names: Sequence[str], most: int = 4) -> str:
    """Names, the first of them if there are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def enclosing_module(names: Sequence[str]) -> str:
    """The innermost module that has all modules of these names; the names themselves if that is the model."""
    levels = zip(*(name.split(".") for name in names), strict=False)
    shared = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    return ".".join(shared) or ", ".join(dict.fromkeys(names))


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
