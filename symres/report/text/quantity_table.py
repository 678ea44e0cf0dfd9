"""The table of ``symres list quantities``."""

from __future__ import annotations

from ...theory.observables import registry
from .catalogue_tables import table
from .console import Line
from .formula_text import Maths


def quantity_table(width: int, unicode: bool) -> list[Line]:
    """Name, sign and arguments in one row; meaning, unit and source under it."""
    maths, entries = Maths(unicode), {}
    for name, record in registry.observables.items():
        sign = record.sign[0 if unicode else 1]
        arguments = ", ".join(maths(s) for s in record.arguments)
        about = [record.meaning, "a number" if record.unit == "1" else f"in units of {record.unit}", record.source]
        entries[name] = f"{sign}({arguments})", ["; ".join(filter(None, about))]
    return table("Quantities", entries, width, unicode)
