"""``symres cache``: results that are kept between runs."""

from __future__ import annotations

from typing import Annotated

import typer

from ...report.text.console import Output
from ..app import Json, app, print_json


@app.command(short_help="Show or remove results kept between runs.")
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all results.")] = False, json: Json = False
) -> None:
    """Show where results are kept between runs and how many, or remove them."""
    from ...core.cache.disk_cache import DiskCache, default_folder

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
