"""The files of ``symres derive --out``."""

from __future__ import annotations

from pathlib import Path

from ..errors import DeclarationError
from ..export import export
from ..export.files import write_text
from ..export.paper.document import document
from ..export.paper.figure import SUFFIXES, Curves, curves, draw
from ..export.paper.record import dumps
from ..report import Report
from ..theory.derive import Theory
from .console import complain
from .request import Request


def write_bundle(request: Request, theory: Theory, report: Report, folder: Path) -> tuple[str, ...]:
    """Write a derivation, its record, the plots and the modules to a folder.

    Returns:
        what could not be written and why: a plot needs numbers for all parameters of the activation.
    """
    drawn, missing = _drawn(report)
    write_text(folder / "derivation.tex", document(report, drawn.caption if drawn is not None else ""))
    write_text(folder / "results.json", dumps(report))
    title = f"{request.phi.name} in the layer {request.layer.name}."
    for target in ("numpy", "torch"):
        module = export(theory, target, title=title, command=request.command("export", "--target", target))
        module.write(folder / f"{request.phi.identifier}_{target}.py")
    for warning in module.warnings:  # the same for both targets
        complain(f"warning: {warning}")
    if drawn is not None:
        for suffix in SUFFIXES:
            draw(folder / f"maps{suffix}", drawn)
    return missing


def _drawn(report: Report) -> tuple[Curves | None, tuple[str, ...]]:
    """The curves of the plot, or why there are none."""
    try:
        return curves(report), ()
    except DeclarationError as error:
        return None, (f"no plot: {error.found}; {error.remedy}",)
