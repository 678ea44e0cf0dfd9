"""Equations that pages cite, with the verdicts on them: ``PDLT (B.15)`` is ``PDLT (B.15), confirmed``."""

from __future__ import annotations

import re

from .printed_claims import VERDICTS, chosen

_DOCUMENTS = {"PDLT": "pdlt", "Fischer et al.": "fischer2025", "Doshi et al.": "doshi2023", "Chizat": "chizat12"}
_CITED = re.compile(rf"({'|'.join(map(re.escape, _DOCUMENTS))}) (\([\w.]+\))")
_WORDS = dict(zip(VERDICTS, ("confirmed", "confirmed with a caveat", "an erratum", "not derivable"), strict=True))


def cited(source: str) -> str:
    """A source with the verdict behind each equation that is a claim; of several parts of one the worst counts."""

    def judged(match: re.Match[str]) -> str:
        expected = {claim.expect for _, claim in chosen(_DOCUMENTS[match[1]]) if claim.label == match[2]}
        worst = max(expected - {VERDICTS[3]}, key=VERDICTS.index, default=None)
        return match[0] if worst is None else f"{match[0]}, {_WORDS[worst]}"

    return _CITED.sub(judged, source)
