"""Words for what is said of modules and of errors, and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch import nn

from ...core.errors import SymresError

if TYPE_CHECKING:
    import pandas as pd


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


def data_frame(rows: Sequence[Mapping[str, object]], what: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of pandas.

    Args:
        rows: numbers and words by the names of the columns.
        what: it is of, for the message.
        columns: in order; None: those of the first row.

    Raises:
        SymresError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise SymresError(f"the table of {what}", "pandas is missing", "pip install symres[torch]") from None
    return pd.DataFrame(rows, columns=columns)
