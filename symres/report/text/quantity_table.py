"""The table of ``symres list quantities``."""

from __future__ import annotations

import textwrap

from ...theory.observables import registry
from .catalogue_tables import table_head
from .console import Line, Span, line
from .formula_text import Maths


def quantity_table(width: int, unicode: bool) -> list[Line]:
    """Name, sign and arguments in one row; meaning, unit and source under it."""
    maths = Maths(unicode)
    known = registry.observables
    column = max(map(len, known), default=0) + 2
    lines = table_head("Quantities", width, unicode)
    for name, record in known.items():
        sign = record.sign[0 if unicode else 1]
        arguments = ", ".join(maths(s) for s in record.arguments)
        lines.append(line(Span(name.ljust(column), "bold"), f"{sign}({arguments})"))
        about = [record.meaning, "a number" if record.unit == "1" else f"in units of {record.unit}", record.source]
        texts = textwrap.wrap("; ".join(filter(None, about)), width - column)
        lines += [line(" " * column, Span(text, "dim")) for text in texts]
    return lines
