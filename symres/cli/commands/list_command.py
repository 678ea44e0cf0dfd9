"""``symres list``, ``show`` and ``cache``: what there is by name, the facts of an activation, results on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output, line
from ..app import FORMULAS, Json, Name, Settings, app, print_json


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
    from ...report.text.catalogue_tables import activation_entries, layer_entries, quantity_entries, table

    kinds = {"activations": activation_entries, "layers": layer_entries}
    computed = ("averages", "criticality")
    if what is not None and what not in (*kinds, "quantities", *computed):
        choice = " or ".join((*kinds, "quantities", *computed))
        raise DeclarationError(f"list {what}", "unknown list", f"use {choice}")
    if what in computed:
        from .surveys import list_averages, list_criticality

        return (list_averages if what == "averages" else list_criticality)(name, settings or [], json)
    for option, is_given in ((name, name is not None), ("--set", bool(settings))):
        if is_given:
            asked = " ".join(filter(None, ("list", what, option)))
            found = "only the lists of averages and of criticality take a name and --set"
            raise DeclarationError(asked, found, f"leave out {option}, or write: symres list averages gelu")
    if what == "quantities":
        kinds = {what: quantity_entries}
    out = Output()
    entries = {kind: entries_of(out.unicode) for kind, entries_of in kinds.items() if what in (None, kind)}
    if json:
        return print_json({kind: [entry.record for entry in rows.values()] for kind, rows in entries.items()})
    for position, (kind, rows) in enumerate(entries.items()):
        out.lines([line("")] * (position > 0) + table(kind.capitalize(), rows, out.width, out.unicode))


@app.command(epilog=FORMULAS)
def show(activation: Name, settings: Settings = None, json: Json = False) -> None:
    """Show the facts of an activation."""
    from ...report.text.catalogue_tables import activation_record, facts_page
    from ..request import chosen

    phi, out = chosen(activation, settings or []), Output()
    if json:
        return print_json(activation_record(phi, out.unicode))
    out.lines(facts_page(phi, out.width, out.unicode))


@app.command(short_help="Show or remove results kept between runs.")
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all results.")] = False, json: Json = False
) -> None:
    """Show where results are kept between runs and how many, or remove them."""
    from ...core.disk_cache import DiskCache, default_folder

    folder = default_folder()
    cache = None if folder is None else DiskCache(folder)
    obstacle = "there is no home folder, and SYMRES_CACHE_DIR is not set" if cache is None else cache.obstacle()
    removed = cache.clear() if cache is not None and not obstacle and clear else 0
    files, size = cache.size() if cache is not None and not obstacle else (0, 0)
    if json:
        most = None if cache is None else cache.most_bytes
        sizes = {"files": files, "bytes": size, "most_bytes": most, "removed": removed}
        return print_json({"folder": None if cache is None else str(cache.folder), "obstacle": obstacle, **sizes})
    if cache is None or obstacle:
        text = f"no results are kept: {'' if cache is None else f'{cache.folder}: '}{obstacle}"
    elif clear:
        text = f"removed {removed} files from {cache.folder}"
    else:
        text = f"{cache.folder}: {files} files, {size / 2**20:.1f} of at most {cache.most_bytes / 2**20:.0f} MB"
    Output().text(text)
