"""``symres compare``: activations side by side in one layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import DeclarationError
from ...core.files import require_place, write_text
from ...report.text.console import Output
from ..app import FORMAT, Json, LayerName, OutFile, Settings, app, place

if TYPE_CHECKING:
    from ...studies.compare_activations import ActivationComparison


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
    text = _FORMS[chosen[0] if chosen else "table"](comparison, output.width).rstrip("\n")
    output.text(text if path is None else f"wrote {write_text(path, text + chr(10))}")


def _as_json(comparison: ActivationComparison, width: int) -> str:
    from json import dumps

    settings = dict(comparison.settings)
    document = {"format": FORMAT, "layer": comparison.layer, "settings": settings, "activations": comparison.records()}
    return dumps(document, indent=2, allow_nan=False)


_FORMS: Mapping[str, Callable[[ActivationComparison, int], str]] = {
    "table": lambda comparison, width: comparison.table(width),
    "latex": lambda comparison, width: comparison.latex(),
    "csv": lambda comparison, width: comparison.csv(),
    "json": _as_json,
}
