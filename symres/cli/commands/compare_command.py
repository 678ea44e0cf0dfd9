"""``symres compare``: activations side by side in one layer."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from ...core.errors import DeclarationError
from ...core.files import require_place, write_text
from ...report.text.console import Output
from ..app import FORMAT, Json, LayerName, OutFile, Settings, app, place


@app.command(short_help="Compare activations: class, critical point, gains, nu, r*.")
def compare(
    activations: Annotated[list[str], typer.Argument(metavar="ACTIVATION...", help="Names ('symres list'), formulas.")],
    layer: LayerName = "mlp",
    settings: Settings = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values with all digits.")] = False,
    json: Json = False,
    out: OutFile = None,
) -> None:
    """Compare activations in one layer: universality class, critical point, gains, nu and the optimal aspect ratio.

    symres compare relu gelu silu "leaky_relu(0.01)" --layer residual --set gamma=1/2
    """
    from ...core.progress import Bar
    from ...studies.compare_activations import compare as compared
    from ..request import settings_of

    chosen = [name for name, asked in (("latex", latex), ("csv", csv), ("json", json)) if asked]
    if len(chosen) > 1:
        raise DeclarationError(" and ".join(f"--{name}" for name in chosen), "they exclude each other", "choose one")
    path = place(out, "a file")
    if path is not None:
        require_place(path)
    with Bar("compare") as progress:
        comparison = compared(*activations, layer=layer, progress=progress, **settings_of(settings or []))
    output = Output()
    if json:
        about = {"format": FORMAT, "layer": comparison.layer, "settings": dict(comparison.settings)}
        text = dumps(about | {"activations": comparison.records()}, indent=2, allow_nan=False)
    else:
        text = comparison.latex() if latex else comparison.csv() if csv else comparison.table(output.width)
    text = text.rstrip("\n")
    output.text(text if path is None else f"wrote {write_text(path, text + chr(10))}")
