"""``symres plot``: the phase diagram of a layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output, busy
from ..app import FORMULAS, Json, LayerName, OutFile, Settings, Subject, app, place, print_json

if TYPE_CHECKING:
    from ..request import Axis, Request

_AXES = ("C_W", "C_b")  # what axes show without --x and --y
_KERNEL = "1"  # of the input, without --kernel


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
    kernel: Annotated[str, typer.Option("--kernel", metavar="NUMBER", help="The kernel of the input.")] = _KERNEL,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Draw the phase diagram: chi_perp or a depth scale over two parameters, with critical lines and points."""
    from ...core.files import require_place
    from ...core.progress import Bar
    from ...report.figures.phase_diagram import MOST_POINTS, phase_diagram, require_quantity
    from ...report.figures.style import format_of
    from ...studies.phase_flow import require_maps
    from ...theory.theory import derive as theory_of
    from ..request import axis, make

    if points > MOST_POINTS:  # before anything is derived
        found = f"{points}^2 values need too much memory"
        raise DeclarationError(f"--points {points}", found, f"use {MOST_POINTS} or fewer")
    require_quantity(quantity)
    axes = axis(x), axis(y)
    request = make(activation, layer, settings or [], free=list(filter(None, axes)))
    path = place(out, "a file") or Path(f"{_file_stem(request, quantity, axes, kernel)}.png")
    format_of(path)
    require_place(path)
    with busy(f"deriving {request.subject}"):
        theory = theory_of(request.layer)
        require_maps(*theory.flow_maps[::2])  # before advice, which takes seconds
        advice = theory.advice()
    with Bar("phase diagram") as progress:
        drawn = phase_diagram(
            theory, *axes, quantity=quantity, points=points, K=kernel, advice=advice, progress=progress
        )
    file = drawn.save(path)
    if json:
        return print_json({"file": str(file), **drawn.record()})
    Output().text(f"wrote {file}")


def _file_stem(request: Request, quantity: str, axes: tuple[Axis | None, Axis | None], kernel: str) -> str:
    """What a figure shows: ``gelu_residual_gamma_1_2_phases``, ``tanh_mlp_xi_c_over_C_W_0_4_C_b``.

    It has all numbers that the user gave: figures of different numbers do not overwrite each other.
    """
    from ..request import in_a_file_name

    parts = [request.stem, request.layer_stem, request.settings_stem]
    parts += [f"K_{in_a_file_name(kernel)}"] if kernel != _KERNEL else []
    parts += ["phases" if quantity == "chi_perp" else quantity]
    if axes != (None, None):
        parts += ["over"]
        for default, axis in zip(_AXES, axes, strict=True):
            parts += [default] if axis is None else [axis[0], *(f"{end:g}" for end in axis[1:])]
    return "_".join(part for part in parts if part)
