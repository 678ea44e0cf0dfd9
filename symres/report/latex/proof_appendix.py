"""Proofs as typeset mathematics: the rules that are used, once, and the averages that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sympy as sp

from ...core.proof import Insertion, Proof, Rule, SlopeAndValue, Step, TermwiseStep
from ...core.symbols import bound_variables, variables, z
from ...gaussian.closed_form.citations import BoundaryTerm, CitedIdentity, Convergence
from ...notation import Notation, named
from ...results.quantity import Quantity
from .displays import display, escape
from .prose import prose

# what the rules and identities that a proof cites say: a name, and a sentence before, in and behind a display
_STATEMENTS: dict[str, tuple[str, str, str, str]] = {
    Rule.BREAKPOINTS: (
        "Breakpoints as signs",
        r"A function with the parts $p_0, \ldots, p_m$ between the breakpoints $b_1 < \ldots < b_m$ is",
        r"f(z) &= \frac{p_0 + p_m}{2} + \sum_{i=1}^m \frac{p_i - p_{i-1}}{2}\operatorname{sgn}(z - b_i).",
        "",
    ),
    Rule.STEIN: (
        "Stein's lemma",
        r"For jointly Gaussian $z_i$ of mean $\mu$ and covariance $\Sigma$,",
        r"\langle z_i F \rangle &= \mu_i \langle F \rangle + \sum_j \Sigma_{ij}\langle \partial_j F \rangle.",
        "It lowers the degree of a polynomial factor until averages of products of signs are left.",
    ),
    CitedIdentity.ERROR_FUNCTION: (
        "Error functions as signs",
        r"For $a > 0$ and a fresh Gaussian $\varepsilon$ of variance $1/(2a^2)$,",
        r"\operatorname{erf}(az + b) &= \langle \operatorname{sgn}(z + b/a + \varepsilon)\rangle_\varepsilon.",
        "",
    ),
    CitedIdentity.BOUNDARY: (
        "Boundary terms",
        r"The derivative of a sign is $2\delta(y)$; with $m = \langle y \rangle$ and $V = \langle (y - m)^2 \rangle$,",
        r"\langle 2\delta(y) F \rangle &= \frac{2}{\sqrt{2\pi V}}\, e^{-m^2/(2V)}\langle F \rangle_{y = 0},",
        "the average on the right being conditioned on $y = 0$.",
    ),
    CitedIdentity.GAUSSIAN_FACTOR: (
        "Gaussian factors",
        r"With $\alpha$ the diagonal matrix of the exponents,",
        r"\Bigl\langle e^{z^{\mathsf T} \alpha z} F \Bigr\rangle_\Sigma &="
        r"\det(1 - 2\Sigma\alpha)^{-1/2} \langle F \rangle_{\Sigma'},\qquad \Sigma' = (1 - 2\Sigma\alpha)^{-1} \Sigma.",
        "",
    ),
    CitedIdentity.EXPONENTIAL_FACTOR: (
        "Exponential factors",
        "",
        r"\Bigl\langle e^{\beta \cdot z} F(z) \Bigr\rangle &= e^{\beta \cdot \Sigma\beta/2}"
        r"\langle F(z + \Sigma\beta) \rangle.",
        "",
    ),
    CitedIdentity.ONE_SIGN: (
        "One sign",
        r"For $y$ of mean $m$ and variance $V$,",
        r"\langle \operatorname{sgn}(y) \rangle &= \operatorname{erf}\Bigl( \frac{m}{\sqrt{2V}} \Bigr).",
        "",
    ),
    CitedIdentity.TWO_SIGNS: (
        "Two signs (Sheppard)",
        r"For centred $y_1$ and $y_2$,",
        r"\langle \operatorname{sgn}(y_1) \operatorname{sgn}(y_2) \rangle &= \frac{2}{\pi}"
        r"\arcsin\frac{\langle y_1 y_2 \rangle}{\sqrt{\langle y_1^2 \rangle \langle y_2^2 \rangle}}.",
        "",
    ),
    CitedIdentity.TWO_SHIFTED_SIGNS: (
        "Two shifted signs (bivariate normal law)",
        r"For centred $y_1$ and $y_2$ of variances $V_1$ and $V_2$,",
        r"\langle \operatorname{sgn}(m_1 + y_1) \operatorname{sgn}(m_2 + y_2) \rangle &="
        r"\mathrm{S}_2 \Bigl( \frac{m_1}{\sqrt{V_1}}, \frac{m_2}{\sqrt{V_2}},"
        r"\frac{\langle y_1 y_2 \rangle}{\sqrt{V_1 V_2}} \Bigr), \\"
        "\n"
        r"\mathrm{S}_2(h, k, r) &= \operatorname{erf}\frac{h}{\sqrt{2}} \operatorname{erf}\frac{k}{\sqrt{2}}"
        r"+ \frac{2}{\pi} \int_0^r e^{-(h^2 - 2hks + k^2)/(2(1 - s^2))} \frac{ds}{\sqrt{1 - s^2}},",
        "the integral being Plackett's identity.",
    ),
    CitedIdentity.FOUR_SIGNS: (
        "Four signs",
        r"For centred $y_i$ of variances $V_i$ and correlations $r_{ij} = \langle y_i y_j \rangle/\sqrt{V_i V_j}$,",
        r"\langle \operatorname{sgn}(y_1) \operatorname{sgn}(y_2) \operatorname{sgn}(y_3)\operatorname{sgn}(y_4)"
        r" \rangle &= \mathrm{S}_4(r_{12}, r_{13}, r_{14}, r_{23}, r_{24}, r_{34}),\qquad \frac{\partial \mathrm{S}_4}"
        r"{\partial r_{ij}} = \frac{4}{\pi^2}\frac{\arcsin r_{kl \mid ij}}{\sqrt{1 - r_{ij}^2}}",
        r"with the correlation of the other two given $y_i$ and $y_j$; "
        r"$\mathrm{T}_4(r)$ is the case of equal correlations.",
    ),
    CitedIdentity.SIGNS_OF_ONE_VARIABLE: (
        "Two signs of one variable",
        r"For $h > 0$,",
        r"\operatorname{sgn}(y + h) \operatorname{sgn}(y) &=1 - \operatorname{sgn}(y + h) + \operatorname{sgn}(y).",
        "",
    ),
}
RULES = {
    key: (name, f"{before}\n\\begin{{align*}}\n{shown}\n\\end{{align*}}\n{behind}".strip("\n"))
    for key, (name, before, shown, behind) in _STATEMENTS.items()
}
_ROWS = 14  # of a table that does not break across pages


@dataclass(frozen=True)
class Lemma:
    """A Gaussian average in closed form."""

    statement: str  # displayed equation
    paragraphs: tuple[str, ...]  # its derivation, LaTeX


class Appendix:
    """The derivations of quantities, each rule and each average once.

    Args:
        quantities: what is derived, in order.
        notation: how formulas are written.

    Attributes:
        rules: (name, statement) of every rule that is used.
        lemmas: the averages.
        uses: name of a quantity -> numbers of the averages in it.
        rest: name of a quantity -> paragraphs, for steps that are no averages.
    """

    def __init__(self, quantities: Sequence[Quantity], notation: Notation) -> None:
        self.notation = notation
        self._numbers: dict[str, int] = {}
        self._averages: dict[sp.Expr, int] = {}
        self._determinants: dict[sp.Symbol, sp.Expr] = {}  # of the average that is written
        self._defined: set[sp.Symbol] = set()
        self.lemmas: list[Lemma] = []
        self.uses: dict[str, list[int]] = {}
        self.rest: dict[str, list[str]] = {}
        for quantity in quantities:
            self.uses[quantity.name] = list(dict.fromkeys(self._lemma(*found) for found in _averages(quantity.proof)))
            self.rest[quantity.name] = [text for step in quantity.proof.steps for text in self._other(step)]

    @property
    def rules(self) -> list[tuple[str, str]]:
        """The rules in the order of their numbers."""
        return [RULES[key] for key in self._numbers]

    # ---- averages ----------------------------------------------------------------------------------------------

    def _lemma(self, node: sp.Expr, proof: Proof) -> int:
        if node not in self._averages:
            self._averages[node] = len(self.lemmas) + 1
            # the terms of the average: coefficient, and the proof for one product of functions
            parts = [part for step in proof.steps if isinstance(step, TermwiseStep) for part in step.parts]
            self._determinants = _determinants(proof.result, *_formulas(proof, *(inner for _, inner in parts)))
            self._defined = set()
            statement = self._display(self._write(node), proof.result)
            label = f"(A{len(self.lemmas) + 1})"
            paragraphs = [text for c, product in parts for text in self._product(c, product, proof.result, label)]
            for _, product in parts[:1]:  # all terms are averaged over the same law
                renamed = [p for p in zip(product.start.covariance, node.covariance, strict=True) if p[0] != p[1]]
                equal = ", ".join(f"${self._write(general)} = {self._write(special)}$" for general, special in renamed)
                paragraphs += [f"Here {equal}."] if equal else []
            self.lemmas.append(Lemma(statement, tuple(paragraphs)))
        return self._averages[node]

    def _product(self, coefficient: sp.Expr, proof: Proof, claim: sp.Expr, label: str) -> Iterator[str]:
        """The average of one product of functions of one variable each, a part of the claim with that label."""
        start = proof.start
        factors = [factor.as_expr() for factor in start.factors]
        z_names = bound_variables(len(factors))
        yield from self._integrand(factors, z_names, coefficient)
        for step, before in zip(proof.steps, (start, *(s.after for s in proof.steps)), strict=False):
            if step.rule == Rule.BREAKPOINTS and any(factor.breaks for factor in start.factors):
                numbers = self._cite([Rule.BREAKPOINTS])
                yield f"Written with signs, by {numbers},"
                yield from (
                    display(name, factor.xreplace({z: x}), notation=self.notation)
                    for name, factor, x in _functions(step.after.factors, z_names)
                )
            elif step.rule == Rule.STEIN:
                identities = [key for key in CitedIdentity if key in step.details]
                yield f"By {self._cite([Rule.STEIN, *identities])}"
                yield from self._boundaries(step.details, z_names)
                yield f"the average is {label}." if step.after == claim else "the average is"
                if step.after != claim:
                    yield self._display("", step.after)
                for condition in (detail for detail in step.details if isinstance(detail, Convergence)):
                    yield f"It converges where ${self._write(condition.positive)} > 0$."
            elif step.rule not in (Rule.BREAKPOINTS, Rule.CANONICAL):
                yield prose(step.statement[0].upper() + step.statement[1:]) + "."
            elif step.rule == Rule.CANONICAL and step.after != before:
                yield f"Terms collected, this is {label}." if step.after == claim else "Terms collected, this is"
                if step.after != claim:
                    yield self._display("", step.after)
        if proof.second is not None:
            yield from self._again(proof.second)

    def _again(self, second: Proof) -> Iterator[str]:
        """A proof by Price's theorem: the slope in the covariance and the value at independence."""
        for step in _slopes_and_values(second):
            yield "A second proof: with $f$ and $g$ the functions of $z_1$ and $z_2$, by Price's theorem"
            left = r"\frac{\partial}{\partial C} \langle f(z_1) g(z_2) \rangle = \langle f'(z_1) g'(z_2) \rangle"
            yield self._display(left, step.slope, tail=",")
            yield r"and at $C = 0$ the average is"
            yield self._display(r"\langle f \rangle \langle g \rangle", step.value)
            yield "The closed form has this slope and this value."

    def _integrand(self, factors: Sequence[sp.Expr], names: Sequence[sp.Symbol], coefficient: sp.Expr) -> Iterator[str]:
        """The integrand, written out as functions of one variable each."""
        times = "" if coefficient == 1 else f", to be multiplied with ${self._write(coefficient)}$,"
        product = " the product of" * (len(factors) > 1)
        if product and len(set(factors)) == 1:
            product += " " + " and ".join(f"$f(z_{k})$" for k in range(1, len(factors) + 1)) + " with"
        yield f"The integrand{times} is{product}"
        for name, factor, x in _functions(factors, names):
            yield display(name, factor.xreplace({z: x}), notation=self.notation)

    def _boundaries(self, details: Iterable[str], names: Sequence[sp.Symbol]) -> Iterator[str]:
        """The boundary terms as a table; the noise of an error function has a column where there is any."""
        terms = [detail for detail in details if isinstance(detail, BoundaryTerm)]
        if not terms:
            return
        noisy = any(term.noise for term in terms)
        renamed = dict(zip(variables, names, strict=False))
        heads = ["$y$", *([r"$\langle \varepsilon^2 \rangle$"] if noisy else []), "$m$", "$V$"]
        rows = []
        for term in terms:
            place = self._write(term.place.xreplace(renamed)) + (r" + \varepsilon" if term.noise else "")
            quotients = map(sp.fraction, (*([term.noise] if noisy else []), term.mean, term.variance))
            # with the numbers of a denominator multiplied into it, which is shorter in a table
            rows.append(" & ".join(f"${cell}$" for cell in (place, *(self._write(a / b) for a, b in quotients))))
        yield "with the boundary terms"
        for k in range(0, len(rows), _ROWS):
            body = " \\\\\n".join(rows[k : k + _ROWS])
            yield (
                "\\begin{center}\n\\renewcommand{\\arraystretch}{1.6}\n"
                f"\\begin{{tabular}}{{{'l' * len(heads)}}}\n{' & '.join(heads)} \\\\\n\\hline\n"
                f"{body}\n\\end{{tabular}}\n\\end{{center}}"
            )

    def _cite(self, keys: Sequence[str]) -> str:
        numbers = sorted(self._numbers.setdefault(key, len(self._numbers) + 1) for key in keys)
        return f"rule {numbers[0]}" if len(numbers) == 1 else f"rules {', '.join(map(str, numbers))}"

    # ---- steps of other kinds ----------------------------------------------------------------------------------

    def _other(self, step: Step) -> Iterator[str]:
        """Paragraphs for a step that inserts no average and is no mere reordering: rule, statement, result."""
        if isinstance(step, Insertion) or (step.rule == Rule.CANONICAL and not step.details):
            return
        yield rf"\textbf{{{escape(step.rule)}.}} {prose(step.statement)}."
        yield from (prose(line) + "." for line in step.lines)
        if isinstance(step.after, sp.Expr):
            yield display("", step.after, notation=self.notation)

    # ---- formulas ----------------------------------------------------------------------------------------------

    def _display(self, left: str, expr: sp.Expr, tail: str = ".") -> str:
        """A formula of an average with names for its determinants; each is told where the average first has it."""
        shown = expr.xreplace({determinant: name for name, determinant in self._determinants.items()})
        new = [name for name in self._determinants if name in shown.free_symbols - self._defined]
        self._defined.update(new)
        rows = [(left, shown), *((self._write(name), self._determinants[name]) for name in new)]
        tails = [*["," for _ in new], tail]
        return "\n".join(
            display(head, side, tail=end, notation=self.notation) for (head, side), end in zip(rows, tails, strict=True)
        )

    def _write(self, expr: sp.Expr) -> str:
        return self.notation.write(expr)


def _averages(proof: Proof) -> Iterator[tuple[sp.Expr, Proof]]:
    """The averages that a quantity's proof inserts, also inside of its named steps."""
    for step in proof.steps:
        if not isinstance(step, Insertion):
            continue
        if isinstance(step.place, sp.Symbol):
            yield from _averages(step.proof)
        else:
            yield step.place, step.proof


def _slopes_and_values(second: Proof) -> Iterator[SlopeAndValue]:
    """What determines an average in its second proof, whatever symbols stand for its coefficients."""
    return (step for step in second.steps if isinstance(step, SlopeAndValue))


def _determinants(result: sp.Expr, *formulas: sp.Expr) -> dict[sp.Symbol, sp.Expr]:
    """Names for the determinants in formulas; those of the result come first."""
    determinants = sorted(
        (determinant for _, determinant in named(sp.Tuple(*formulas))[1]), key=lambda d: not result.has(d)
    )
    names = ["Delta"] if len(determinants) == 1 else [f"Delta{k}" for k in range(1, len(determinants) + 1)]
    return {sp.Symbol(name, positive=True): d for name, d in zip(names, determinants, strict=True)}


def _formulas(*proofs: Proof) -> Iterator[sp.Expr]:
    """The formulas that proofs display: the states of proofs and of their second proofs."""
    for proof in proofs:
        states = [step.after for step in proof.steps]
        yield from (state for state in (proof.result, *states) if isinstance(state, sp.Expr))
        if proof.second is not None:
            for step in _slopes_and_values(proof.second):
                yield from (step.slope, step.value)


def _functions(factors: Sequence[sp.Expr], names: Sequence[sp.Symbol]) -> Iterator[tuple[str, sp.Expr, sp.Symbol]]:
    """Name, formula and variable of every function; equal ones once."""
    if len(set(factors)) == 1:
        yield "f(z)", factors[0], z
        return
    for k, (factor, x) in enumerate(zip(factors, names, strict=True), 1):
        yield f"f_{k}(z_{k})", factor, x
