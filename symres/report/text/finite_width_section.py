"""The part of a page about finite width: how fluctuations grow with depth, and how deep a network may be."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp

from ...core.symbols import gamma
from ...results.advice.sizes import WIDTH
from ...results.annotated_numbers import OUTPUTS, GrowthCurve, VertexFormulas
from ...results.quantity import Quantity
from .console import Line, Span, line
from .sheet import INDENT, ReportSection, digits

_GAMMAS = (0.0, 0.5, 0.9)
_DIGITS = 6
_COLUMN = 12
_LONG = 400  # characters of formulas that leave the page
_FACTOR = 4  # between the widths whose depth is told: that of the advice, a narrower and a wider one
_RATIOS = ("1/16", "1/4")  # depth/width whose optimal weights are told
_NEARLY = 0.9  # of nu: growth of V/K^2 that is nearly the final one
_MEMORY = 4  # times 1/(1 - gamma^2): layers after which it is, at a kernel that the layer preserves
_KEEPING = ("scale-invariant", "half-stable")  # classes whose critical kernel is not 0


class FiniteWidthSection(ReportSection):
    """What the theory of order 1/n says about deep networks at the critical point."""

    def lines(self) -> list[Line]:
        """The recursion of V; its growth at criticality, with its limit; depths and weights that are optimal."""
        curve, vertex = self.report.growth, self.report.vertex
        lines = [] if vertex is None else self._recursion(vertex)
        if curve is not None:
            lines += self._growth(curve)
        return [*self.rule("Finite width"), *lines] if lines else []

    def _recursion(self, vertex: VertexFormulas) -> list[Line]:
        """V from layer to layer."""
        chi, times = self.name("chi_parallel"), "·" if self.maths.unicode else "*"
        total, square = ("Σ_k", "²") if self.maths.unicode else ("sum_k", "^2")
        kept = self.maths(vertex.weight**2)
        remembers, carried = vertex.memory_noise != 0, times.join([chi, f"({kept})" if "/" in kept else kept])
        formulas = [("N", vertex.noise), ("M", vertex.memory_noise), ("R", vertex.stream_noise)]
        functions = [(name, formula) for name, formula in formulas if formula != 0]
        said = "Four-point vertex V = n E[z_i^2 z_j^2]_c of two neurons from layer to layer; V = 0 in the first"
        lines = self.wrapped(self.words(said))
        lines += self.equation("V", ["P" if vertex.stream_noise == 0 else "P + 2G"])
        earlier = f" + 2{times}{total} A_k{times}M(K_k, K, C_k)" if remembers else ""
        lines += self.equation("P'", [f"{chi}{square}{times}P{' + N' if vertex.noise != 0 else ''}{earlier}"])
        if vertex.stream_noise != 0:
            lines += self.equation("G'", [f"{chi if vertex.weight**2 == 1 else carried}{times}G + R"])
        if remembers:
            said = (
                f"k: an earlier layer; A_k: product of {chi} over the layers after k, the present one included; "
                "C_k: covariance of one neuron in layer k and in the present layer"
            )
            lines += self.wrapped(said, "dim")
        texts = [(name, self.maths(e)) for name, e in functions]
        texts += [(f"with {self.maths(s)}", self.maths(e)) for s, e in vertex.steps]
        if sum(len(text) for _, text in texts) > _LONG:
            names = ", ".join(name for name, _ in functions)
            said = f"{names} are too long for a page: symres export --quantity vertex --target latex prints them"
            return lines + self.wrapped(said, "dim")
        return lines + [shown for name, text in texts for shown in self.equation(name, [text], style="")]

    def _growth(self, curve: GrowthCurve) -> list[Line]:
        """What V is at criticality."""
        said = "At criticality V/K^2 grows by nu per layer in deep networks; r* is the optimal depth/width"
        lines = self.wrapped(self.words(said))
        for quantity in self.report.finite_width:
            lines += self._formula(quantity, curve)
        lines += self._table(curve)
        optimal = []  # the skip connections at which some aspect ratios are
        for ratio in _RATIOS:
            if weights := curve.weights_of(float(Fraction(ratio))):
                optimal.append(f"{ratio} at gamma = {' and '.join(f'{weight:.3f}' for weight in weights)}")
        if optimal:
            lines += self.wrapped(self.words(f"optimal depth/width: {', '.join(optimal)}"))
        differs = max(abs(row.nu / row.second - 1) for row in curve.rows)
        if differs > 1e-9:
            row = max(curve.rows, key=lambda r: abs(r.nu / r.second - 1) if (r.gamma or 0) <= 0.9 else 0)
            there = "" if row.gamma is None else f"at gamma = {row.gamma:g} "
            text = (
                "Neurons with a skip connection remember earlier layers. PDLT (B.26) has a part of this effect: "
                f"{there}the complete nu is {row.nu / row.second:.3g} times as large"
            )
            lines += self.wrapped(self.words(text), "dim")
        return lines + self._few_layers(curve)

    def _formula(self, quantity: Quantity, curve: GrowthCurve) -> list[Line]:
        lines = self.equation(self.name(quantity.name), [self.maths(quantity.body)])
        if quantity.name == "nu" and curve.edge is not None:
            arrow = "→" if self.maths.unicode else "->"
            near = f"{self.maths.symbol('gamma')} {arrow} 1"
            lines += self.equation("", [f"{self.maths(curve.edge)} + ...  for {near}"])
        if quantity.name == "nu_log":
            lines += self.wrapped(
                self.words("where K flows to 0: V/(nu K^2) = l + nu_log log(l) + O(1) after l layers")
            )
        return lines

    def _few_layers(self, curve: GrowthCurve) -> list[Line]:
        """That V/K^2 does not grow by nu yet after few layers, where the table has depths of as few."""
        if self.report.vertex is None or self.report.universality_class not in _KEEPING:
            return []
        narrow, weight = self._widths[0], self.report.vertex.weight
        slow = None
        for row in curve.at(*_GAMMAS):
            kept = weight if row.gamma is None else weight.subs(gamma, row.gamma)
            builds_up = row.second < _NEARLY * row.nu  # the first layer adds what the second Hermite component does
            if builds_up and kept.is_number and row.aspect_ratio * narrow * (1 - kept**2) < _MEMORY:
                slow = kept
        if slow is None:
            return []
        after = f"{_MEMORY}/(1 - gamma^2)" if weight == gamma else f"{float(_MEMORY / (1 - slow**2)):.0f}"
        said = (
            f"While neurons build up their memory, V/K^2 grows more slowly; after about {after} layers it grows by "
            f"more than {100 * _NEARLY:g} % of nu. Optimal depths of fewer layers are underestimated"
        )
        return self.wrapped(self.words(said), "dim")

    def _table(self, curve: GrowthCurve) -> list[Line]:
        heads = [self.maths.symbol("gamma"), self.maths.symbol("nu"), "r*", *(f"n = {width}" for width in self._widths)]
        rows = [
            [
                f"{row.gamma or 0.0:g}",
                *(digits(mp.mpf(number), _DIGITS) for number in (row.nu, row.aspect_ratio)),
                *(str(max(round(row.aspect_ratio * width), 1)) for width in self._widths),
            ]
            for row in curve.at(*_GAMMAS)
        ]
        if curve.rows[0].gamma is None:
            heads, rows = heads[1:], [row[1:] for row in rows]
        lines = self.wrapped(self.words(f"Optimal depth in layers for three widths n, with n_L = {OUTPUTS} output"))
        lines += [line(" " * INDENT, Span("".join(head.ljust(_COLUMN) for head in heads).rstrip(), "bold"))]
        return lines + [line(" " * INDENT, "".join(cell.ljust(_COLUMN) for cell in row).rstrip()) for row in rows]

    @property
    def _widths(self) -> tuple[int, int, int]:
        width = WIDTH if self.report.advice is None else self.report.advice.width
        return max(width // _FACTOR, 1), width, _FACTOR * width
