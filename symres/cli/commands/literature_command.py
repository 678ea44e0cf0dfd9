"""``symres literature``: printed results, derived again and judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.files import write_text
from ...report.text.console import Output
from ..app import Json, app, place
from ..processes import is_command, pool_of
from ..staging import staged

if TYPE_CHECKING:
    from ...core.progress import Progress
    from ...literature.judging import Judgement


@app.command(short_help="Judge printed results: symres literature doshi2023 --errata.")
def literature(
    document: Annotated[str, typer.Argument(metavar="[DOCUMENT[:LABEL]]", help="A name or a number: pdlt:B.29.")] = "",
    errata: Annotated[bool, typer.Option("--errata", help="Only what is wrong in print, with corrections.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the errata sheet as a LaTeX document.")] = False,
    json: Json = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Write to a file: .txt, .json, .tex.")
    ] = None,
) -> None:
    """Derive printed results again, compare both sides at random points, and say which hold.

    \b
    symres literature                    # all documents, a row each
    symres literature pdlt               # a line for each claim
    symres literature doshi2023:165      # a claim whole, with the call that derives it
    symres literature 004 --errata --out errata

    \b
    CONFIRMED              both sides agree
    CONFIRMED WITH CAVEAT  they agree under a condition that the print does not state
    ERRATUM                they do not; the correction and a witness agree with the derivation
    NOT DERIVABLE          the call that would derive it does not exist

    The exit code is 1 where a verdict is not the one that the claim expects.
    """
    from ...core.progress import Bar
    from ...literature.printed_claims import chosen

    pairs = chosen(document)
    folder = place(out, "a folder")
    with staged(folder) if folder is not None else nullcontext() as files, Bar("literature") as progress:
        judgements = _judged([claim.id for _, claim in pairs], progress)
        output = Output()
        whole = len(pairs) == 1 or ":" in document
        texts = {
            "errata.tex": lambda: _sheet(judgements),
            "literature.json": lambda: _records(judgements, errata),
            "literature.txt": lambda: _text(judgements, output.width, whole, bool(document), errata),
        }
        if files is None:
            name = "errata.tex" if latex else "literature.json" if json else "literature.txt"
            output.text(texts[name]().rstrip("\n"))
        else:
            written = [write_text(files / name, text().rstrip("\n") + "\n") for name, text in texts.items()]
            output.text(f"wrote {', '.join(path.name for path in written)} to {folder}")
    if not all(judgement.sound for judgement in judgements):
        raise typer.Exit(1)


def _sheet(judgements: Sequence[Judgement]) -> str:
    from ...literature import verdict_tables as tables

    return tables.errata_sheet(judgements)


def _records(judgements: Sequence[Judgement], errata: bool) -> str:
    shown = [judgement.record() for judgement in judgements if judgement.verdict == "ERRATUM" or not errata]
    return dumps(shown, indent=2, ensure_ascii=False)


def _text(judgements: Sequence[Judgement], width: int, whole: bool, one_document: bool, errata: bool) -> str:
    from ...literature import verdict_tables as tables

    if errata:
        return tables.errata(judgements, width)
    if whole:
        return "\n\n".join(tables.whole(judgement, width) for judgement in judgements)
    return tables.table(judgements) if one_document else tables.summary(judgements)


def _judged(ids: Sequence[str], progress: Progress) -> list[Judgement]:
    """All claims, on all processors where this process is the command alone."""
    workers = min(len(ids), os.cpu_count() or 1)
    judgements = []
    with pool_of(workers) if workers > 1 and is_command() else nullcontext() as pool:
        results = map(_judge, ids) if pool is None else pool.map(_judge, ids, chunksize=4)
        for position, judgement in enumerate(results, 1):
            progress(judgement.claim.id, position / len(ids))
            judgements.append(judgement)
    return judgements


def _judge(claim_id: str) -> Judgement:
    from ...literature.judging import judge
    from ...literature.printed_claims import chosen

    (pair,) = (pair for pair in chosen(claim_id.partition(":")[0]) if pair[1].id == claim_id)
    return judge(*pair)
