"""``symres solve``: parameters with which a layer meets targets."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output
from ..app import FORMULAS, Json, LayerName, Settings, Subject, app, print_json

_NOT_OF_LAYERS = ("K", "n_L")  # numbers of a question, not of a layer
_EITHER_SIGN = (-1.0, 1.0)  # what a parameter of a formula may be without a box


@app.command(short_help="Find parameters that meet targets: --target K=1 --for beta.", epilog=FORMULAS)
def solve(
    activation: Subject,
    layer: LayerName = "mlp",
    target: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="NAME=NUMBER", help="A quantity and its value: chi_perp=1. May be repeated."),
    ] = None,
    unknown: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="NAME[=LOW:HIGH]", help="A parameter to be found: a=0:1. May be repeated."),
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Find all values of parameters with which quantities have wanted values.

    \b
    symres solve swish --target K=1 --for beta
    symres solve tanh --target correlation_length=50 --for C_W --set C_b=1/20
    symres solve relu --layer residual --target aspect_ratio=3/100 --for gamma --set n_L=1
    symres solve leaky_relu --target "correlation(0, 49)=9/10" --for slope --set C_b=0

    \b
    Targets: K, chi_perp, chi_parallel and correlation_length at the fixed point
    where C_W and C_b have numbers or are to be found (else K is that of the
    critical point), exponents.jacobian, exponents.kernel, nu, aspect_ratio,
    correlation(c, depth), and any observable at a kernel (--set K=1).

    Without a solution the exit code is 3, and a line says why.
    """
    from ...core.progress import Bar
    from ...studies.inverse_design.solve import solve as solved
    from ...theory.theory import derive as theory_of
    from ..request import axis, make, settings_of

    targets = settings_of(target or [], "--target")
    if not targets or not unknown:
        asked = f"symres solve {activation}"
        raise DeclarationError(asked, "it does not say what is wanted, and of what", "write --target K=1 --for beta")
    boxes = {
        name.strip(): None if not equals else axis(f"{name}={ends}")
        for name, equals, ends in (text.partition("=") for text in unknown)
    }
    free = [(name, *(_EITHER_SIGN if box is None else box[1:])) for name, box in boxes.items()]
    numbers = settings_of(settings or [])
    fixed = {name: numbers.pop(name) for name in _NOT_OF_LAYERS if name in numbers}
    request = make(activation, layer, [f"{name}={value}" for name, value in numbers.items()], free=free)
    with Bar("solve") as progress:
        unknowns = {name: None if box is None else box[1:] for name, box in boxes.items()}
        answer = solved(theory_of(request.layer), targets, unknowns, progress=progress, **fixed)
    if json:
        print_json({"subject": request.subject, "targets": targets, **answer.record()})
    else:
        Output().text(str(answer))
    if not answer:
        raise typer.Exit(3)
