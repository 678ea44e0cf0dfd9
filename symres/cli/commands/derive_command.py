"""``symres derive``: the page of a layer, and the files of its derivation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.errors import DeclarationError
from ...report.text.console import Line, Output, busy, line
from ...results.advice.sizes import DEPTH, WIDTH
from ..app import FORMULAS, Json, LayerNameOrNone, OutFolder, Positive, Settings, Subject, Tokens, app, place

if TYPE_CHECKING:
    from ...results.report import Report
    from ...theory.theory import Theory
    from ..kept_pages import KeptPage
    from ..request import Request


@app.command(short_help="Derive and print kernels, susceptibilities, critical points.", epilog=FORMULAS)
def derive(
    activation: Subject,
    layer: LayerNameOrNone = None,
    settings: Settings = None,
    positive: Positive = None,
    out: OutFolder = None,
    json: Json = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print the proofs, step by step.")] = False,
    tokens: Tokens = None,
    depth: Annotated[int, typer.Option("--depth", metavar="LAYERS", help="Depth for which to advise.")] = DEPTH,
    width: Annotated[int, typer.Option("--width", metavar="NEURONS", help="Width for which to advise.")] = WIDTH,
    inputs_kernel: Annotated[
        str | None, typer.Option("--inputs-kernel", metavar="NUMBER", help="Mean square of the inputs, for advice.")
    ] = None,
) -> None:
    """Derive kernels, susceptibilities and critical points of a layer, and print them."""
    if json and explain:
        raise DeclarationError("--json and --explain", "they exclude each other", "choose one")
    from dataclasses import replace

    from ...core.work_budget import factor
    from ...studies.advice.network_sizes import require_size
    from ..kept_pages import layer_key, look, recalled
    from ..request import ALONE, make

    require_size(depth, width, inputs_kernel)
    folder = place(out, "a folder")
    request = replace(make(activation, layer or ALONE, settings or [], positive=positive or []), tokens=tokens)
    output, network = Output(), (depth, width, inputs_kernel)
    options = (("--depth", depth, DEPTH), ("--width", width, WIDTH), ("--inputs-kernel", inputs_kernel, None))
    sizes = []  # the options that are not as they are without them
    for name, value, usual in options:
        if value != usual:
            sizes += [name, str(value)]

    def page() -> KeptPage:
        return _derived(request, folder, sizes, network, output, json, explain)

    if folder is None and (declared := layer_key(request.layer)) is not None:
        shown = (f"derive {factor()}", request.title, request.command("derive", *sizes), request.source)
        kept = recalled((*shown, *declared, str(json), str(explain), *look(output)), page)
    else:
        kept = page()
    output.lines(kept.lines)
    if layer is None and request.phi is not None and not (json or positive):
        output.lines(_further(request, output.width))
    raise typer.Exit(kept.code)


def _further(request: Request, width: int) -> list[Line]:
    """What else can be asked of an activation, for those who have named it alone."""
    from shlex import quote

    from ...codegen import targets
    from ...codegen.module import LATEX

    asked = quote(request.asked)
    numbers = "".join(f" --set {quote(f'{name}={value}')}" for name, value in request.settings.items())
    others = [*(name for name in targets.names() if name != "torch"), LATEX]
    rows = {
        f"symres derive {asked} --layer residual{numbers}": "another layer ('symres list layers')",
        f"symres plot {asked}{numbers}": "its phase diagram",
        f"symres check {asked}{numbers}": "beside simulated networks",
        f"symres compare {asked} {'gelu' if request.asked == 'relu' else 'relu'}{numbers}": "beside other activations",
        f"symres export {asked} --target torch{numbers}": f"code; also {', '.join(others)}",
    }
    column = max(map(len, rows)) + 3
    fits = 2 + column + max(map(len, rows.values())) <= width
    shown = [f"{command:<{column}}{words}" if fits else command for command, words in rows.items()]
    return [line(""), line("  further:"), *(line(f"  {text}") for text in shown)]


def _derived(
    request: Request,
    folder: Path | None,
    sizes: list[str],
    network: tuple[int, int, str | None],
    output: Output,
    json: bool,
    explain: bool,
) -> KeptPage:
    """Derive what is asked for, write the files if there is a folder for them, and lay out the page.

    Of the advised networks ``sizes`` are the options, ``network`` the depth, the width and the inputs' mean square.
    """
    from contextlib import nullcontext
    from dataclasses import replace
    from json import dumps

    from ...core.work_budget import Stage, limited
    from ...results.verdict import Outcome
    from ...studies.token_stacks import stack_of_tokens
    from ..kept_pages import KeptPage
    from ..staging import places, staged

    with (
        nullcontext() if folder is None else staged(folder) as path,
        limited(Stage.PAGE, ends=False),
        busy(f"deriving {request.subject}"),
    ):
        theory, report = _report(request, *sizes)
        if theory.has_positions:
            report = replace(report, tokens=stack_of_tokens(theory, network[0]))
            if theory.is_exchangeable and theory.sequence_length == 1:
                alone = "a single position meets no other: attention, windows and pools are dense there"
                report = replace(report, remarks=(*report.remarks, alone))
            elif names := theory.parameter_names:
                told = f"with numbers for {', '.join(names)} (--set {names[0]}=1) this page tells where tokens go"
                report = replace(report, remarks=(*report.remarks, told))
        report = replace(report, advice=theory.advice(*network))
        missing: tuple[str, ...] = ()
        files: list[Path] = []
        if folder is not None and path is not None:
            from .bundle import write_bundle

            missing = write_bundle(request, theory, report, path)
            files = places(path, folder)
        if json:
            from ...report.record import record

            shown: list[Line] = [line(text) for text in dumps(record(report), indent=2, allow_nan=False).splitlines()]
        else:
            from ...report.text.page import Page

            page = Page(report, request.phi, output.width, output.unicode)
            shown = page.lines(files, missing, explain)
    # 1 if the quick check contradicts a result, 3 if something took more than its budget; a quantity that does not
    # exist (h of a jump) is a finding
    refuted = any(row.outcome is Outcome.REFUTED for row in report.checks)
    return KeptPage(shown, 1 if refuted else 3 if report.given_up else 0)


def _report(request: Request, *options: str) -> tuple[Theory, Report]:
    """The theory's report with a quick check, and the command that makes it with these options."""
    from dataclasses import replace

    from ...check import check as compare
    from ...report.views import known_fixed_points
    from ...results.quantity import Status
    from ...theory.theory import derive as theory_of

    theory = theory_of(request.layer, positions=request.positions)
    page = [name for name, quantity in theory.quantities.items() if quantity.status is not Status.UNKNOWN]
    measured = [name for name in page if theory.observables[name].has_oracle(theory.has_positions)]
    checks = compare(theory, against="quadrature", points=1, quantities=measured, progress=False).verdicts
    report = theory.report(request.settings, checks, request.command("derive", *options))
    return theory, replace(
        report,
        activation=request.title,
        instructions=request.layer.program.instructions,
        fixed_points=known_fixed_points(theory),
        source=request.source,
    )
