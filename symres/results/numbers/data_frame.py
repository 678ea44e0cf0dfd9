"""Rows of results as a table of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...core.errors import SymresError

if TYPE_CHECKING:
    import pandas as pd


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
