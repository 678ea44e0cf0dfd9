"""The infinitely wide network, by deterministic quadrature in the same protocol as the sampled ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..noise import of_square
from ..panels import adapted, average1, average_tensor, hermite, trapezoidal
from ..plane import plane
from .field import Affine, Field, OracleLimit, Place, declared, expanded, kinks, leaves, value

# nodes per panel in one and two dimensions; two resolutions give the error
_RESOLUTIONS = ({1: 12, 2: 10}, {1: 20, 2: 14})
# nodes per axis by number of wide axes (three or four in all), and on axes along which inputs are nearly equal
_TENSOR = ({1: 80, 2: 80, 3: 80, 4: 34}, {1: 118, 2: 118, 3: 118, 4: 50})
_TENSOR_REACH = (8.2, 8.8)  # they differ, so that mass beyond the ends shows in the error
_NEARLY_EQUAL = (10, 14)
_TOLERANCE = {1: 1e-15, 2: 1e-14}
_CANCELLED = 0.01  # a correlation below this has lost digits in the difference of the inputs


class LimitNet:
    """A network at n = infinity: neurons are random variables, ``mean`` is an integral, a dense layer is a new source.

    Averages are pairs inside, <f> and <|f|>: what doubles lose in the first is relative to the second.

    Args:
        covariance: of the stream over the inputs, (inputs, inputs).
        resolution: 0 or 1, the finer one.
        differences: <(z_a - z_b)^2>, where the covariance cannot hold its digits.
    """

    def __init__(self, covariance: np.ndarray, resolution: int = 1, differences: np.ndarray | None = None) -> None:
        covariance = np.asarray(covariance, dtype=float)
        if differences is None:
            variances = np.diag(covariance)
            differences = variances[:, None] + variances - 2 * covariance
        self._sources = [covariance]
        self._differences = [differences]
        self._sizes = [np.abs(covariance)]
        self._entered: list[Any] = []
        self._resolution = resolution
        self._inputs = len(covariance)

    def stream(self) -> Field:
        """A neuron of the stream."""
        return self._source(0)

    def mean(self, u: Any) -> np.ndarray:
        """Average over the neurons, one number per input."""
        if not isinstance(u, Field):
            return np.asarray(u, dtype=float)
        return np.array(
            [
                sum(_at(c, a) * self._product([(f, a) for f in factors])[0] for c, factors in expanded(u))
                for a in range(self._inputs)
            ]
        )

    def dense(self, u: Any, C_W: float, C_b: float, width: float = 1.0) -> Field:
        """A fresh Gaussian source; its covariance does not depend on the width."""
        moments, differences, sizes = self.measured(u)
        self._entered.append(u)
        self._sources.append(C_b + C_W * moments)
        self._differences.append(C_W * differences)
        self._sizes.append(C_b + C_W * sizes)
        return self._source(len(self._sources) - 1)

    def moments(self, u: Any) -> tuple[np.ndarray, np.ndarray]:
        """<u_a u_b> and <(u_a - u_b)^2> for all pairs of inputs.

        The second keeps its digits for nearly equal inputs.
        """
        return self.measured(u)[:2]

    def measured(self, u: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The moments, and of the first of them the size that their rounding errors are relative to."""
        second, difference, size = np.empty((3, self._inputs, self._inputs))
        for a in range(self._inputs):
            (second[a, a], size[a, a]), difference[a, a] = self._second(u, a, a), 0.0
            for b in range(a):
                direct = self._difference(u, a, b, second[a, a])
                both = second[a, a] + second[b, b]
                if direct is None or abs(both - direct) < _CANCELLED * both:
                    mixed, apart = self._second(u, a, b)
                    direct = both - 2 * mixed if direct is None else direct
                else:
                    mixed, apart = (both - direct) / 2, size[a, a] + size[b, b]
                second[a, b] = second[b, a] = mixed
                difference[a, b] = difference[b, a] = direct
                # where the arguments are sources made here, their errors are relative to their standard deviations
                known = isinstance(u, Affine) or not self._made(u, a, b)
                size[a, b] = size[b, a] = apart if known else max(apart, np.sqrt(second[a, a]) * np.sqrt(second[b, b]))
        return second, difference, size

    def evaluation_error(self, u: Any) -> float:
        """What the declared functions in ``u``, and in what entered dense layers, lose in doubles.

        Returns:
            Relative to second moments, the sum over the functions. Those whose argument is not Gaussian are left out.
        """
        found: dict[int, float] = {}
        places = [(field, a) for field in (*self._entered, u) if isinstance(field, Field) for a in range(self._inputs)]
        for function, argument, a in declared(places):
            sigma = np.sqrt(self._covariance((argument, a), (argument, a)))
            error = of_square(function, float(argument.constant[a]), float(sigma))
            found[id(function)] = max(found.get(id(function), 0.0), error)
        return sum(found.values())

    def _made(self, u: Any, *inputs: int) -> bool:
        found = leaves([(u, a) for a in inputs]) if isinstance(u, Field) else {}
        return any(source > 0 for form, _ in found.values() for source in form.coefficients)

    def _source(self, number: int) -> Affine:
        return Affine({number: np.ones(self._inputs)}, np.zeros(self._inputs))

    def _second(self, u: Any, a: int, b: int) -> np.ndarray:
        if not isinstance(u, Field):
            return _pair(_at(u, a) * _at(u, b))
        terms = expanded(u)
        products = (
            _pair(_at(c, a) * _at(d, b)) * self._product([(f, a) for f in left] + [(f, b) for f in right])
            for c, left in terms
            for d, right in terms
        )
        return sum(products, np.zeros(2))

    def _difference(self, u: Any, a: int, b: int, size: float) -> float | None:
        """<(u_a - u_b)^2> without a difference of large numbers.

        None where <u_a u_b> is better done by itself: it splits into plane integrals, which this does not, or the
        inputs are far apart (``size`` is <u_a^2>).
        """
        if not isinstance(u, Field):
            return float(_at(u, a) - _at(u, b)) ** 2
        if isinstance(u, Affine):
            return self._affine_difference(u, a, b) + float(u.constant[a] - u.constant[b]) ** 2
        places = [(u, a), (u, b)]
        _, basis, _ = self._reduced(places)
        if len(basis) > 2 and expanded(u)[0][1] != (u,):
            return None
        result = float(self._integral(places, lambda first, second: (first - second) ** 2)[0])
        return result if len(basis) <= 2 or result < 0.1 * size else None

    def _affine_difference(self, u: Affine, a: int, b: int) -> float:
        """Var(u_a - u_b); with c_a y_a - c_b y_b = sqrt(c_a c_b) (y_a - y_b) + rest, the rest is 0 for equal c."""
        total = 0.0
        for s, c in u.coefficients.items():
            total += c[a] * c[b] * self._differences[s][a, b]
            total += (c[a] - c[b]) * (c[a] * self._sources[s][a, a] - c[b] * self._sources[s][b, b])
        return float(total)

    def _product(self, places: list[Place]) -> np.ndarray:
        """<product of fields>: one integral for each set of factors that depend on each other."""
        groups: list[tuple[list[Place], list[tuple[Affine, int]]]] = []
        for place in places:
            joined, gaussians = [place], list(leaves([place]).values())
            apart = []
            for others, theirs in groups:
                if any(self._covariance(x, y) != 0 for x in gaussians for y in theirs):
                    joined, gaussians = others + joined, theirs + gaussians
                else:
                    apart.append((others, theirs))
            groups = [*apart, (joined, gaussians)]
        result = np.ones(2)
        for members, _ in groups:
            result = result * self._average(members)
        return result

    def _average(self, places: list[Place]) -> np.ndarray:
        forms = [(f, a) for f, a in places if isinstance(f, Affine)]
        if len(places) <= 2 and len(forms) == len(places):
            result = _pair(np.prod([f.constant[a] for f, a in forms]))
            if len(forms) == 2:
                result += [self._covariance(*forms), self._covariance_size(*forms)]
            return result
        return self._integral(places, lambda *values: np.prod(np.broadcast_arrays(*values), axis=0))

    def _covariance(self, x: tuple[Affine, int], y: tuple[Affine, int]) -> float:
        (f, a), (g, b) = x, y
        return sum(
            float(f.coefficients[s][a] * g.coefficients[s][b] * self._sources[s][a, b])
            for s in f.coefficients.keys() & g.coefficients.keys()
        )

    def _covariance_size(self, x: tuple[Affine, int], y: tuple[Affine, int]) -> float:
        (f, a), (g, b) = x, y
        return sum(
            float(abs(f.coefficients[s][a] * g.coefficients[s][b]) * self._sizes[s][a, b])
            for s in f.coefficients.keys() & g.coefficients.keys()
        )

    def _reduced(self, places: list[Place]) -> tuple[dict[Any, Any], list[int], np.ndarray]:
        """Leaves, the positions of those that form a basis, and all of them as combinations of the basis."""
        found = leaves(places)
        forms = list(found.values())
        covariance = np.array([[self._covariance(x, y) for y in forms] for x in forms]).reshape(len(forms), -1)
        rest = covariance.copy()
        basis: list[int] = []
        variances = np.diag(covariance).copy()
        while True:
            share = np.array([r / v if v > 0 else 0.0 for r, v in zip(np.diag(rest), variances, strict=True)])
            share[basis] = 0.0
            if len(share) == 0 or share.max() < 1e-12:
                break
            pivot = int(np.argmax(share > 0.999 * share.max()))  # the first of equals: results do not jump about
            basis.append(pivot)
            rest = rest - np.outer(rest[:, pivot], rest[pivot]) / rest[pivot, pivot]
        if not basis:
            return found, basis, np.zeros((len(forms), 0))
        combination = np.linalg.solve(covariance[np.ix_(basis, basis)], covariance[basis]).T
        combination[basis] = np.eye(len(basis))
        for row, place in zip(combination, forms, strict=True):  # multiples exactly: nearly equal inputs cost digits
            for column, k in enumerate(basis):
                ratio = _multiple(place, forms[k])
                if ratio is not None:
                    row[:] = 0.0
                    row[column] = ratio
        return found, basis, combination

    def _integral(self, places: list[Place], function: Any) -> np.ndarray:
        found, basis, combination = self._reduced(places)
        keys, forms = list(found), list(found.values())
        constants = [f.constant[a] for f, a in forms]

        def integrand(*xs: Any) -> Any:
            held = {
                key: sum((c * x for c, x in zip(row, xs, strict=True) if c), constant)
                for key, row, constant in zip(keys, combination, constants, strict=True)
            }
            with np.errstate(all="ignore"):
                return function(*(value(f, a, held) for f, a in places))

        breaks: list[list[float]] = [[] for _ in basis]
        for key, switches in kinks(places).items():
            (used,) = np.nonzero(combination[keys.index(key)])
            if len(used) == 1:
                slope, constant = combination[keys.index(key), used[0]], constants[keys.index(key)]
                breaks[used[0]].extend((b - constant) / slope for b in switches)
        return np.array(self._integrate(integrand, [forms[i] for i in basis], breaks))

    def _integrate(
        self, integrand: Any, basis: list[tuple[Affine, int]], breaks: list[list[float]]
    ) -> tuple[float, float]:
        dimension = len(basis)
        if dimension == 0:
            return float(integrand()), abs(float(integrand()))
        if dimension > 4:
            raise OracleLimit(
                "the infinitely wide network", f"it needs a {dimension}-dimensional integral", "rely on simulation"
            )
        covariance = np.array([[self._covariance(x, y) for y in basis] for x in basis])
        sigma = np.sqrt(np.diag(covariance))
        if dimension == 1:
            edges = adapted(integrand, sigma[0], breaks[0], _RESOLUTIONS[0][1], _TOLERANCE[1])
            return average1(integrand, sigma[0], edges, _RESOLUTIONS[self._resolution][1])
        if dimension == 2:
            width = np.sqrt(self._determinant(covariance, basis) / covariance[0, 0])
            panels = plane(integrand, covariance, width, breaks, _RESOLUTIONS[0][2], _TOLERANCE[2])
            return panels.average(_RESOLUTIONS[self._resolution][2])
        factor = np.linalg.cholesky(covariance)
        wide = np.diag(factor) > 0.2 * sigma
        many, few = _TENSOR[self._resolution][int(wide.sum())], _NEARLY_EQUAL[self._resolution]
        reach = _TENSOR_REACH[self._resolution]
        return average_tensor(integrand, factor, [trapezoidal(many, reach) if w else hermite(few) for w in wide])

    def _determinant(self, covariance: np.ndarray, basis: list[tuple[Affine, int]]) -> float:
        (f, a), (g, b) = basis
        if f is not g:
            return float(np.linalg.det(covariance))
        difference = self._affine_difference(f, a, b)
        first, second = np.sqrt(np.diag(covariance))
        return float(((first + second) ** 2 - difference) * (difference - (first - second) ** 2) / 4)


def _multiple(x: tuple[Affine, int], y: tuple[Affine, int]) -> float | None:
    """The number by which one form is another's multiple at the same input, if there is one."""
    (f, a), (g, b) = x, y
    if a != b or f.coefficients.keys() != g.coefficients.keys():
        return None
    ratios = [float(f.coefficients[s][a] / g.coefficients[s][a]) for s in f.coefficients if g.coefficients[s][a]]
    if len(ratios) < len(f.coefficients) or max(ratios) - min(ratios) > 1e-15 * max(map(abs, ratios)):
        return None
    return ratios[0]


def _pair(number: Any) -> np.ndarray:
    return np.array([number, abs(number)], dtype=float)


def _at(coefficient: Any, a: int) -> Any:
    return coefficient if np.ndim(coefficient) == 0 else coefficient[a]
