"""``symres list averages`` and ``symres list criticality``: surveys of many activations, spread over the processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from json import dumps, loads

from ...activations import catalogue
from ...activations.activation import Activation
from ...core.disk_cache import ACTIVE, caching, default_cache
from ...core.errors import DeclarationError, SymresError
from ...report.text.console import Output, busy, line
from ..app import print_json
from ..kept_pages import KeptPage, activation_key, is_kept, look, recalled
from ..processes import is_command, pool_of
from ..request import chosen


@dataclass(frozen=True)
class PageLayout:
    """How the part of a list about one activation is printed."""

    width: int  # columns
    unicode: bool  # whether mathematical characters can be shown
    json: bool  # one line of JSON instead
    whole: bool  # with long formulas, reasons and verifications


def list_averages(name: str | None, settings: list[str], json: bool) -> None:
    """The averages of one activation or of all, each printed when it is known."""
    from ...report.text import averages_table

    _require_name("averages", name, settings)
    activations = list(catalogue.activations.values()) if name is None else [chosen(name, settings)]
    out = Output()
    layout = PageLayout(out.width, out.unicode, json, name is not None)
    pages = _pages("averages", activations, layout, averages_page, out)
    if json:
        return print_json({"activations": [loads(page.lines[0][0].text) for page in pages]})
    legend = averages_table.Averages(activations[0], out.width, out.unicode).legend()
    for position, page in enumerate(pages):
        out.lines((legend if position == 0 else []) + page.lines)


def list_criticality(name: str | None, settings: list[str], json: bool) -> None:
    """Critical points and lines, classes, exponents and correlation lengths in several layers."""
    from ...report.text import criticality_table
    from ...studies.survey import ACTIVATIONS, named_activation

    _require_name("criticality", name, settings)
    usual = map(named_activation, ACTIVATIONS)
    activations = list(usual) if name is None else [chosen(name, settings)]
    out = Output()
    pages = _pages("criticality", activations, PageLayout(out.width, out.unicode, json, True), criticality_page, out)
    if json:
        return print_json({"criticality": [row for page in pages for row in loads(page.lines[0][0].text)]})
    out.lines(criticality_table.Survey(out.width, out.unicode).legend())
    for page in pages:
        out.lines(page.lines)


def averages_page(layout: PageLayout, phi: Activation) -> KeptPage:
    """The averages of one activation."""
    from ...report.text import averages_table
    from ...studies.survey import averages

    asked = averages(phi)
    if layout.json:
        return KeptPage([line(dumps(averages_table.record(phi, asked), allow_nan=False))])
    return KeptPage(averages_table.Averages(phi, layout.width, layout.unicode).lines(asked, layout.whole))


def criticality_page(layout: PageLayout, phi: Activation) -> KeptPage:
    """The criticality of one activation in all layers of the survey."""
    from ...report.text import criticality_table
    from ...studies.survey import criticality

    rows = [criticality_table.entry(found, layout.unicode and not layout.json) for found in criticality(phi)]
    if layout.json:
        return KeptPage([line(dumps(list(map(criticality_table.record, rows)), allow_nan=False))])
    sheet = criticality_table.Survey(layout.width, layout.unicode)
    parts = [sheet.lines(row, first=position == 0) for position, row in enumerate(rows)]
    return KeptPage([shown for part in parts for shown in part])


def _require_name(what: str, name: str | None, settings: list[str]) -> None:
    if name is None and settings:
        found = f"--set goes with the {what} of one activation"
        remedy = f"name it: symres list {what} swish --set beta=2"
        raise DeclarationError(f"list {what} --set {settings[0]}", found, remedy)


def _pages(
    what: str,
    activations: Sequence[Activation],
    layout: PageLayout,
    study: Callable[[PageLayout, Activation], KeptPage],
    out: Output,
) -> Iterator[KeptPage]:
    """A page for each activation, in their order: kept ones, and new ones that all processors work on."""
    subjects = []
    for phi in activations:
        key = activation_key(phi)
        subjects.append(None if key is None else (what, *key, str(layout.json), str(layout.whole), *look(out)))
    missing = [phi for phi, subject in zip(activations, subjects, strict=True) if not is_kept(subject)]
    workers = min(len(missing), os.cpu_count() or 1)
    if missing:  # where all pages are kept, nothing that computes is loaded; else once, before processes are copied
        from ...studies import survey  # noqa: F401
    with pool_of(workers) if workers > 1 and is_command() else nullcontext() as pool:
        work = partial(study, layout) if pool is None else partial(_with_cache, study, layout, ACTIVE.get() is not None)
        new = map(work, missing) if pool is None else pool.map(work, missing)
        for position, (phi, subject) in enumerate(zip(activations, subjects, strict=True), 1):
            with busy(f"{what} of {phi.name}" + f" ({position} of {len(activations)})" * (len(activations) > 1)):
                try:
                    page = recalled(subject, lambda: next(new))
                except BrokenProcessPool:
                    found = "one of its processes was killed by the system"
                    raise SymresError(f"list {what}", found, "run it again, with more free memory") from None
            yield page


def _with_cache(
    study: Callable[[PageLayout, Activation], KeptPage], layout: PageLayout, wanted: bool, phi: Activation
) -> KeptPage:
    """A study in another process, with a cache of its own in the same folder."""
    with caching(default_cache() if wanted else None):
        return study(layout, phi)
