"""Verdicts: both sides of a claim at random points, its corrected form, and a witness that decides between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import mpmath as mp
import sympy as sp

from ..activations.catalogue import activation
from ..core.errors import SymresError
from .finite_networks import networks
from .formulas import Phi, tree
from .numbers import DIGITS, as_phi, number
from .paths import follow
from .printed_claims import Claim, Document, Point

_NEARER = 5  # times: how much nearer to the derivation than to the print a witness must lie
_NOTHING = mp.mpf(10) ** -20  # below, two numbers are both 0
_HALF = mp.mpf("0.5000001")  # of the last printed digit
_WORD = re.compile(r"[A-Za-z_]\w*")
_NETWORKS = "networks("  # with which a witness begins that is simulated
_PHI = "phi"  # activations are the choices of symbols that begin so

FAILURES = (SymresError, AttributeError, TypeError, LookupError, ValueError, ArithmeticError)  # of paths, and values

Number: TypeAlias = mp.mpf | bool
Formula: TypeAlias = sp.Basic


@dataclass(frozen=True)
class Judgement:
    """What became of a claim.

    Args:
        document: that prints it.
        claim: what is judged.
        verdict: of ``VERDICTS``.
        point: where print and derivation differ most.
        printed, derived: their values there; None where one has none.
        correct, witness: the same of the corrected form and of the witness.
        deviation: largest relative difference between print and derivation.
        remark: what the verdict rests on, or what is wrong with the claim.
        sound: whether an erratum has a confirmed correction and a witness for it, and a verdict is the expected one.
    """

    document: Document
    claim: Claim
    verdict: str
    point: Mapping[str, Any]
    printed: Number | None = None
    derived: Number | None = None
    correct: Number | None = None
    witness: Number | None = None
    deviation: float = 0.0
    remark: str = ""
    sound: bool = True

    @property
    def shown_point(self) -> dict[str, Any]:
        """The values at that point of what occurs in the claim."""
        words = Sides(self.document, self.claim).words | {"K"}
        return {name: value for name, value in self.point.items() if name in words}

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        claim = self.claim
        evidence = {
            "point": {name: str(value) for name, value in self.shown_point.items()},
            **{name: _plain(getattr(self, name)) for name in ("printed", "derived", "correct", "witness")},
            "deviation": self.deviation,
            "remark": self.remark,
        }
        return {
            "source": self.document.source,
            "id": claim.id,
            "label": claim.label,
            "statement": claim.states,
            "kind": claim.kind,
            "verdict": self.verdict,
            "printed": claim.printed,
            "derived": claim.derived or claim.missing,
            "correct": claim.correct or None,
            "caveat": claim.caveat or None,
            "reason": claim.reason or None,
            "evidence": evidence,
        }


@dataclass(frozen=True)
class _Compared:
    """Both sides where they differ most."""

    point: Point
    left: Number
    right: Number
    deviation: float
    agree: bool


def judge(document: Document, claim: Claim) -> Judgement:
    """Compare what is printed with what is derived."""
    sides = Sides(document, claim)
    path = claim.derived or claim.missing
    try:
        whole = sides.compared(sides.printed, path)
    except FAILURES as error:
        remark = f"{type(error).__name__}: {error}"
        return _expected(Judgement(document, claim, "NOT DERIVABLE", {}, remark=remark))
    values = (whole.point, whole.left, whole.right)
    if whole.agree:
        return _expected(Judgement(document, claim, "CONFIRMED", *values, deviation=whole.deviation))
    if claim.caveat and claim.holds and sides.compared(sides.printed, path, restricted=True).agree:
        verdict = "CONFIRMED WITH CAVEAT"
        return _expected(
            Judgement(document, claim, verdict, *values, deviation=whole.deviation, remark=f"it holds {claim.caveat}")
        )
    return _expected(_erratum(sides, whole))


def _erratum(sides: Sides, whole: _Compared) -> Judgement:
    claim, values = sides.claim, (whole.point, whole.left, whole.right)
    verdict, point = "ERRATUM", whole.point
    if not claim.correct or not claim.witness:
        remark = "a correction or a witness is missing"
        return Judgement(sides.document, claim, verdict, *values, deviation=whole.deviation, remark=remark, sound=False)
    try:
        right, correct = sides.compared(claim.correct, claim.derived), sides.value(claim.correct, point)
        witness = sides.witness(point)
    except FAILURES as error:
        remark = f"the correction or the witness has no value: {type(error).__name__}: {error}"
        return Judgement(sides.document, claim, verdict, *values, deviation=whole.deviation, remark=remark, sound=False)
    decided = _distance(witness, whole.right) * _NEARER <= _distance(witness, whole.left)
    sound = right.agree and decided
    remark = claim.reason if sound else "the correction or the witness does not agree"
    return Judgement(sides.document, claim, verdict, *values, correct, witness, whole.deviation, remark, sound=sound)


def _expected(judgement: Judgement) -> Judgement:
    claim = judgement.claim
    if judgement.verdict == claim.expect:
        return judgement
    remark = f"{claim.expect} was expected; {judgement.remark}".rstrip("; ")
    return Judgement(**{**vars(judgement), "remark": remark, "sound": False})


@dataclass(frozen=True, eq=False)
class Sides:
    """The sides of a claim as functions of a point.

    Args:
        document: that prints it.
        claim: what is judged.
    """

    document: Document
    claim: Claim

    @property
    def printed(self) -> str:
        """The text of the printed relation."""
        return self.claim.printed

    def compared(self, formula: str | Formula, path: str, restricted: bool = False) -> _Compared:
        """A formula and a path at all points; the one where they differ most."""
        worst: _Compared | None = None
        for point in self.points(restricted):
            left = self.value(formula, point)
            if isinstance(left, bool) and "derived" in str(formula):
                right: Number = True
            else:
                right = follow(path, *self._of_path(point))
            with mp.workdps(DIGITS):
                agree, deviation = self._agree(formula, left, right)
            if worst is None or (not agree, deviation) > (not worst.agree, worst.deviation):
                worst = _Compared(point, left, right, deviation, agree)
        assert worst is not None
        return worst

    def points(self, restricted: bool = False) -> Iterator[Point]:
        """Where they are compared: values of all symbols of the domain, of choices where the claim has them."""
        return self.claim.points(self.words, restricted)

    @cached_property
    def words(self) -> set[str]:
        """What occurs in the claim, abbreviations included."""
        texts = (self.printed, self.claim.derived, self.claim.missing, self.claim.correct, self.claim.witness)
        words = set().union(*map(words_of, texts))
        tables = {**self.document.symbols, **self.claim.where}
        while more := set().union(*(words_of(tables[word]) for word in words & tables.keys())) - words:
            words |= more
        return words

    def witness(self, point: Point) -> Number:
        """The witness at a point: networks, or a formula."""
        if self.claim.witness.startswith(_NETWORKS):
            words, numbers = self._of_path(point)
            return follow(self.claim.witness, {**words, "networks": networks}, numbers)
        return self.value(self.claim.witness, point)

    def value(self, formula: str | Formula, point: Point) -> Number:
        """A formula at a point; a text is read with the activations of the point."""
        values = {name: mp.mpf(sp.N(value, DIGITS + 5)) for name, value in _numbers(point).items()}
        read = self.tree(formula, point) if isinstance(formula, str) else formula
        if any(s.name == "derived" for s in read.free_symbols):
            values["derived"] = follow(self.claim.derived, *self._of_path(point))
        with mp.workdps(DIGITS):
            return number(read, values)

    def tree(self, text: str, point: Point) -> Formula:
        """A formula with the activations of a point."""
        phi = {name: _phi(str(value)) for name, value in point.items() if name.startswith(_PHI)}
        names: dict[str, sp.Expr] = {}
        for table in (self.document.symbols, self.claim.where):
            for name in (name for name in table if name in self.words):
                names[name] = tree(table[name], names, phi)
        return tree(text, names, phi)

    def _of_path(self, point: Point) -> tuple[dict[str, Any], dict[str, sp.Rational]]:
        words = {name: value for name, value in point.items() if isinstance(value, str)}
        return words, _numbers(point)

    def _agree(self, formula: str | Formula, left: Number, right: Number) -> tuple[bool, float]:
        if isinstance(left, bool) or isinstance(right, bool):
            return bool(left) == bool(right), float(bool(left) != bool(right))
        deviation = _distance(left, right)
        if self.claim.kind == "number" and isinstance(formula, str) and "." in formula:
            decimals = len(formula.partition(".")[2])
            return abs(left - right) <= _HALF * mp.mpf(10) ** -decimals, float(deviation)
        return deviation <= max(self.claim.tolerance, self.claim.error), float(deviation)


def _distance(left: Number, right: Number) -> mp.mpf:
    scale = max(abs(mp.mpf(left)), abs(mp.mpf(right)))
    return abs(mp.mpf(left) - mp.mpf(right)) / scale if scale > _NOTHING else mp.mpf(0)


def words_of(text: str) -> set[str]:
    """The names in a formula or a path."""
    return set(_WORD.findall(text))


def _numbers(point: Point) -> dict[str, sp.Rational]:
    return {name: sp.sympify(value) for name, value in point.items() if not isinstance(value, str)}


def _phi(name: str) -> Phi:
    return as_phi(activation(name))


def _plain(value: Number | None) -> float | bool | None:
    return value if value is None or isinstance(value, bool) else float(value)
