"""The tables of ``docs/literature.md``: ``python -m docs.extensions.literature_tables`` writes them into the page."""

from __future__ import annotations

import re
from pathlib import Path

from symres.literature.printed_claims import Claim, documents

PAGE = Path(__file__).parents[1] / "literature.md"
_TABLES = {"ERRATA": "ERRATUM", "CAVEATS": "CONFIRMED WITH CAVEAT", "NOT DERIVABLE": "NOT DERIVABLE"}


def written(page: str) -> str:
    """The page with its tables as the data have them now."""
    for name, verdict in _TABLES.items():
        table = _table(verdict)
        page = re.sub(
            rf"<!-- {name} -->.*?<!-- end -->", f"<!-- {name} -->\n\n{table}\n\n<!-- end -->", page, flags=re.S
        )
    return page


def _table(verdict: str) -> str:
    parts = []
    for document in documents():
        claims = [claim for claim in document.claims if claim.expect == verdict]
        if claims:
            rows = [f"| `{document.id}` | what it says | {_HEADS[verdict]} |", "|---|---|---|"]
            rows += [f"| {claim.label} | {claim.states} | {_reason(claim)} |" for claim in claims]
            parts.append("\n".join(rows))
    return "\n\n".join(parts)


_HEADS = {
    "ERRATUM": "what is wrong",
    "CONFIRMED WITH CAVEAT": "it holds",
    "NOT DERIVABLE": "why it is not derived",
}


def _reason(claim: Claim) -> str:
    return (claim.caveat or claim.reason).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
