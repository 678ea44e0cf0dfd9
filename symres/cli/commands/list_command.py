"""``symres list``: what there is, by name."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output, line
from ..app import Json, Settings, app, print_json


@app.command("list", short_help="List activations, layers, quantities, averages.")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[activations|layers|quantities|averages|criticality]", help="Default: activations and layers."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="For averages, criticality: an activation or formula; default: many."),
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """List activations, layers and quantities by name, or averages and critical points."""
    from ...report.text.catalogue_tables import activation_entries, layer_entries, table

    kinds = {"activations": activation_entries, "layers": layer_entries}
    computed = ("averages", "criticality")
    if what is not None and what not in (*kinds, "quantities", *computed):
        known = " or ".join((*kinds, "quantities", *computed))
        raise DeclarationError(f"list {what}", "unknown list", f"use {known}")
    if what in computed:
        from .surveys import list_averages, list_criticality

        return (list_averages if what == "averages" else list_criticality)(name, settings or [], json)
    for option, given in ((name, name is not None), ("--set", bool(settings))):
        if given:
            asked = " ".join(filter(None, ("list", what, option)))
            found = "only the lists of averages and of criticality take a name and --set"
            raise DeclarationError(asked, found, f"leave out {option}, or write: symres list averages gelu")
    if what == "quantities":
        from ...report.text.quantity_entries import quantity_entries  # apart: observables need NumPy

        kinds = {what: quantity_entries}
    out = Output()
    entries = {kind: entries_of(out.unicode) for kind, entries_of in kinds.items() if what in (None, kind)}
    if json:
        return print_json({kind: [entry.record for entry in listed.values()] for kind, listed in entries.items()})
    for position, (kind, listed) in enumerate(entries.items()):
        out.lines([line("")] * (position > 0) + table(kind.capitalize(), listed, out.width, out.unicode))
