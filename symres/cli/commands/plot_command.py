"""``symres plot``: the phase diagram of a layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output, busy
from ..app import FORMULAS, Json, LayerName, OutFile, Settings, Subject, app, place, print_json

if TYPE_CHECKING:
    from ..request import Axis

_AXES = ("C_W", "C_b")  # what axes show without --x and --y


@app.command(short_help="Draw the phase diagram of a layer.", epilog=FORMULAS)
def plot(
    activation: Subject,
    layer: LayerName = "mlp",
    settings: Settings = None,
    x: Annotated[str | None, typer.Option("--x", metavar="NAME=LOW:HIGH", help="The horizontal axis: C_W=0:4.")] = None,
    y: Annotated[str | None, typer.Option("--y", metavar="NAME=LOW:HIGH", help="The vertical axis: gamma=0:1.")] = None,
    quantity: Annotated[
        str, typer.Option("--quantity", metavar="NAME", help="Colours: chi_perp, or a depth scale, xi_q or xi_c.")
    ] = "chi_perp",
    points: Annotated[int, typer.Option("--points", help="Number of values on each axis.")] = 300,
    kernel: Annotated[str, typer.Option("--kernel", metavar="NUMBER", help="The kernel of the input.")] = "1",
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Draw the phase diagram: chi_perp or a depth scale over two parameters, with critical lines and points."""
    from ...core.files import require_place
    from ...core.progress import Bar
    from ...report.figures.phase_diagram import MOST_POINTS, phase_diagram, require_quantity
    from ...report.figures.style import format_of
    from ...theory.theory import derive as theory_of
    from ..request import axis, make

    if points > MOST_POINTS:  # before anything is derived
        raise DeclarationError(
            f"--points {points}", f"{points}^2 values need too much memory", f"use {MOST_POINTS} or fewer"
        )
    require_quantity(quantity)
    axes = axis(x), axis(y)
    request = make(activation, layer, settings or [], free=[given for given in axes if given is not None])
    path = place(out, "a file") or Path(f"{request.stem}_{request.layer_stem}_{_shown(quantity, axes)}.png")
    format_of(path)
    require_place(path)
    with busy(f"deriving {request.title} in the layer {request.layer.name}"):
        theory = theory_of(request.layer)
        advice = theory.advice()
    with Bar("phase diagram") as progress:
        drawn = phase_diagram(
            theory, *axes, quantity=quantity, points=points, K=kernel, advice=advice, progress=progress
        )
    file = drawn.save(path)
    if json:
        return print_json({"file": str(file), **drawn.record()})
    Output().text(f"wrote {file}")


def _shown(quantity: str, axes: Sequence[Axis | None]) -> str:
    """What a figure shows, for the name of its file: ``phases``, ``xi_c_over_gamma_C_b``."""
    names = [default if axis is None else axis[0] for default, axis in zip(_AXES, axes, strict=True)]
    parts = ["phases"] if quantity == "chi_perp" else [quantity]
    return "_".join(parts + (["over", *names] if tuple(names) != _AXES else []))
