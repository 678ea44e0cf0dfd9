"""``symres show``: the facts of an activation."""

from __future__ import annotations

from ...report.text.console import Output
from ..app import FORMULAS, Json, Name, Settings, app, print_json


@app.command(epilog=FORMULAS)
def show(activation: Name, settings: Settings = None, json: Json = False) -> None:
    """Show the facts of an activation."""
    from ...report.text.catalogue_tables import activation_record, facts_page
    from ..request import chosen

    phi, out = chosen(activation, settings or []), Output()
    if json:
        return print_json(activation_record(phi, out.unicode))
    out.lines(facts_page(phi, out.width, out.unicode))
