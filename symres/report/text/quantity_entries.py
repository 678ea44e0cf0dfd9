"""The entries of ``symres list quantities``."""

from __future__ import annotations

from ...theory.observables import registry
from .catalogue_tables import Entry
from .formula_text import Maths


def quantity_entries(unicode: bool) -> dict[str, Entry]:
    """Every observable with its sign and arguments, its meaning, unit and source."""
    maths, entries = Maths(unicode), {}
    for name, observable in registry.observables.items():
        sign = observable.sign[0 if unicode else 1]
        arguments = [maths(s) for s in observable.arguments]
        unit = "a number" if observable.unit == "1" else f"in units of {observable.unit}"
        record = {
            "name": name,
            "sign": sign,
            "arguments": arguments,
            "meaning": observable.meaning,
            "unit": observable.unit,
            "source": observable.source,
        }
        words = "; ".join(filter(None, (observable.meaning, unit, observable.source)))
        entries[name] = Entry(f"{sign}({', '.join(arguments)})", [words], record)
    return entries
