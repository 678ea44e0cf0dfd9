"""``symres check``: a theory beside oracles that share no code with it."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Output, Span, busy, line
from ..app import FORMULAS, Json, LayerName, Positive, Settings, Subject, Tokens, app, print_json

ORACLES = ("quadrature", "simulation")


@app.command(short_help="Check a theory by quadrature and simulation.", epilog=FORMULAS)
def check(
    activation: Subject,
    layer: LayerName = "mlp",
    settings: Settings = None,
    positive: Positive = None,
    tokens: Tokens = None,
    against: Annotated[
        list[str] | None, typer.Option("--against", metavar="ORACLE", help="quadrature or simulation; default: both.")
    ] = None,
    quantities: Annotated[
        list[str] | None,
        typer.Option("--quantity", metavar="NAME", help="From 'symres list quantities'; default: all. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    json: Json = False,
) -> None:
    """Check every derived quantity against independent quadrature and simulated networks."""
    from dataclasses import replace

    from ...check import Outcome
    from ...check import check as compare
    from ...theory.theory import derive as theory_of
    from ..request import make, observable

    if seed < 0:
        raise DeclarationError(f"--seed {seed}", "it is negative", "use 0, 1, 2, ...")
    oracles = tuple(dict.fromkeys(against or ORACLES))
    for name in oracles:
        if name not in ORACLES:
            raise DeclarationError(f"--against {name}", "unknown oracle", f"use {' or '.join(ORACLES)}")
    request = replace(make(activation, layer, settings or [], positive=positive or []), tokens=tokens)
    theory = theory_of(request.layer, positions=request.positions)
    with busy(f"deriving {request.subject}"):
        default = (n for n, record in theory.observables.items() if record.is_measured and record.by_default)
        for name in quantities or default:
            if observable(theory, name).name in theory.observables:
                theory.quantity(name)
    report = compare(theory, against=oracles, seed=seed, quantities=quantities or None)
    if json:
        from ...report.record import check_record

        subject = {"activation": request.title, "layer": request.layer.name, "settings": request.settings}
        print_json({**subject, **check_record(report)})
    else:
        Output().lines(map(_coloured, report.table().splitlines()))
    if report.outcome is not Outcome.PASSED:
        raise typer.Exit(1 if report.outcome is Outcome.REFUTED else 3)


def _coloured(text: str) -> tuple[Span, ...]:
    for word, style in (("REFUTED", "bold red"), ("INCONCLUSIVE", "bold yellow"), ("PASSED", "green")):
        if word in text:
            before, _, after = text.partition(word)
            return line(before, Span(word, style), after)
    return line(text)
