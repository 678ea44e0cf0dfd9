"""The files of ``symres derive --out``."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import DeclarationError, SymresError
from ...core.files import write_text
from ...core.words import as_typed
from ...report.export import export
from ...report.figures.maps_figure import Curves, can_be_drawn, curves, draw, draw_aspect_ratio
from ...report.figures.style import METADATA
from ...report.figures.tokens_figure import CAPTION, draw_tokens
from ...report.latex.document import document
from ...report.record import dumps
from ...report.text.console import complain
from ...results.report import Report
from ...theory.theory import Theory
from ..request import Request


def write_bundle(request: Request, theory: Theory, report: Report, folder: Path) -> tuple[str, ...]:
    """Write a derivation, its record, the plots and the modules to a folder.

    Returns:
        what could not be written and why: a plot needs numbers for all parameters of the activation, code a way to
        compute each quantity that was found to be accurate.
    """
    drawn, missing = (None, ()) if theory.has_positions else _drawn(report)
    caption = drawn.caption if drawn is not None else CAPTION if report.tokens is not None else ""
    write_text(folder / "derivation.tex", document(report, caption))
    write_text(folder / "results.json", dumps(report))
    warnings: list[str] = []
    without: dict[str, list[str]] = {}
    for target in ("numpy", "torch"):
        command = request.command("export", "--target", target)
        try:
            module = export(theory, target, title=f"{request.subject}.", command=command)
        except SymresError as error:
            missing += (f"no {target} module: {error.found}",)
            continue
        module.write(folder / f"{request.stem}_{target}.py")
        warnings += module.warnings
        for reason in module.missing:
            without.setdefault(reason, []).append(target)
    for warning in dict.fromkeys(warnings):
        complain(f"warning: {warning}")
    if theory.has_positions and report.tokens is None:
        missing += (
            "no plot: it needs numbers for all parameters, and tokens that are alike and stay finite over the depth",
        )
    missing += tuple(f"no {' and '.join(targets)} code for {reason}" for reason, targets in without.items())
    for suffix in METADATA:
        if drawn is not None:
            draw(folder / f"maps{suffix}", drawn)
        if report.tokens is not None:
            draw_tokens(folder / f"tokens{suffix}", report.tokens, request.subject)
        if report.growth is not None and can_be_drawn(report.growth):
            draw_aspect_ratio(folder / f"aspect_ratio{suffix}", report.growth, request.subject)
    return missing


def _drawn(report: Report) -> tuple[Curves | None, tuple[str, ...]]:
    """The curves of the plot, or why there are none."""
    try:
        return curves(report), ()
    except DeclarationError as error:
        return None, (f"no plot: {error.found}; {as_typed(error.remedy)}",)
    except SymresError as error:
        return None, (f"no plot: {error.found}",)
