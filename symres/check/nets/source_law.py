"""Averages over the Gaussian sources of an infinitely wide network, by deterministic quadrature."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from ..rules.adaptive_panels import average_tensor, hermite, trapezoidal
from ..rules.nested_panels import SharedPanels
from .random_field import Affine, Leaf, OracleLimit, Place, kinks, leaves, straight_line, value

# nodes per panel in one and two dimensions; two resolutions give the error
_RESOLUTIONS = ({1: 12, 2: 10}, {1: 20, 2: 14})
# nodes per axis by number of wide axes (three or four in all), and on axes along which inputs are nearly equal
_TENSOR = ({1: 80, 2: 80, 3: 80, 4: 34}, {1: 118, 2: 118, 3: 118, 4: 50})
_TENSOR_REACH = (8.2, 8.8)  # they differ, so that mass beyond the ends shows in the error
_NEARLY_EQUAL = (10, 14)
_TOLERANCE = {1: 1e-15, 2: 1e-14}


def unplanned() -> SharedPanels:
    """Nothing known yet of averages over Gaussian sources, for nets at both resolutions."""
    coarse = _RESOLUTIONS[0]
    return SharedPanels((coarse[1], coarse[2]), (_TOLERANCE[1], _TOLERANCE[2]))


class Rules(NamedTuple):
    """How averages are integrated."""

    resolution: int = 1  # 0, or 1, the finer one
    panels: SharedPanels | None = None  # of averages of the same functions in other nets; None if there are none
    points: int = 0  # number of the set of points at which scores of attention are sampled


class SourceLaw:
    """The joint law of Gaussian sources over some inputs, and averages of fields made of them by some rules.

    Averages are pairs, <f> and <|f|>: what doubles lose in the first is relative to the second.
    """

    def __init__(self, inputs: int, rules: Rules) -> None:
        self._panels = unplanned() if rules.panels is None else rules.panels
        self._sources: list[np.ndarray] = []
        self._differences: list[np.ndarray] = []
        self._sizes: list[np.ndarray] = []
        self._resolution = rules.resolution
        self._inputs = inputs

    def _drawn(self, covariance: np.ndarray, differences: np.ndarray, sizes: np.ndarray) -> Affine:
        """A fresh Gaussian source."""
        self._sources.append(covariance)
        self._differences.append(differences)
        self._sizes.append(sizes)
        return Affine({len(self._sources) - 1: np.ones(self._inputs)}, np.zeros(self._inputs))

    def _affine_difference(self, u: Affine, a: int, b: int) -> float:
        """Var(u_a - u_b); with c_a y_a - c_b y_b = sqrt(c_a c_b) (y_a - y_b) + rest, the rest is 0 for equal c."""
        total = 0.0
        for s, c in u.coefficients.items():
            total += c[a] * c[b] * self._differences[s][a, b]
            total += (c[a] - c[b]) * (c[a] * self._sources[s][a, a] - c[b] * self._sources[s][b, b])
        return float(total)

    def _product(self, places: list[Place]) -> np.ndarray:
        """<product of fields>: one integral for each set of factors that depend on each other."""
        result = np.ones(2)
        for members in self._independent([[place] for place in places]):
            result = result * self._average(members)
        return result

    def _independent(self, parts: list[list[Place]]) -> list[list[Place]]:
        """The parts joined to sets that are independent of each other."""
        groups: list[tuple[list[Place], list[Leaf]]] = []
        for part in parts:
            joined, gaussians = part, list(leaves(part).values())
            apart = []
            for others, theirs in groups:
                if any(self._covariance(x, y) != 0 for x in gaussians for y in theirs):
                    joined, gaussians = others + joined, theirs + gaussians
                else:
                    apart.append((others, theirs))
            groups = [*apart, (joined, gaussians)]
        return [members for members, _ in groups]

    def _average(self, places: list[Place]) -> np.ndarray:
        forms = [(f, a) for f, a in places if isinstance(f, Affine)]
        if len(places) <= 2 and len(forms) == len(places):
            result = pair_of(np.prod([f.constant[a] for f, a in forms]))
            if len(forms) == 2:
                x, y = forms
                result += np.array([self._covariance(x, y), self._covariance(x, y, size=True)])
            return result
        return self._integral(places, _product)

    def _covariance(self, x: Leaf, y: Leaf, size: bool = False) -> float:
        """The covariance of two forms, or the sum of the sizes of its terms."""
        (f, a), (g, b) = x, y
        shared = f.coefficients.keys() & g.coefficients.keys()
        products = {s: f.coefficients[s][a] * g.coefficients[s][b] for s in shared}
        if size:
            return sum(float(abs(product) * self._sizes[s][a, b]) for s, product in products.items())
        return sum(float(product * self._sources[s][a, b]) for s, product in products.items())

    def _reduced(self, places: list[Place]) -> tuple[dict[tuple[int, int], Leaf], list[int], np.ndarray]:
        """Leaves, the positions of those that form a basis, and all of them as combinations of the basis."""
        gaussians = leaves(places)
        forms = list(gaussians.values())
        covariance = np.array([[self._covariance(x, y) for y in forms] for x in forms]).reshape(len(forms), -1)
        residual = covariance.copy()
        basis: list[int] = []
        variances = np.diag(covariance).copy()
        while True:
            share = np.array([r / v if v > 0 else 0.0 for r, v in zip(np.diag(residual), variances, strict=True)])
            share[basis] = 0.0
            if len(share) == 0 or share.max() < 1e-12:
                break
            pivot = int(np.argmax(share > 0.999 * share.max()))  # the first of equals: results do not jump about
            basis.append(pivot)
            residual = residual - np.outer(residual[:, pivot], residual[pivot]) / residual[pivot, pivot]
        if not basis:
            return gaussians, basis, np.zeros((len(forms), 0))
        combination = np.linalg.solve(covariance[np.ix_(basis, basis)], covariance[basis]).T
        combination[basis] = np.eye(len(basis))
        for row, leaf in zip(combination, forms, strict=True):  # multiples exactly: nearly equal inputs cost digits
            for column, k in enumerate(basis):
                ratio = _multiple(leaf, forms[k])
                if ratio is not None:
                    row[:] = 0.0
                    row[column] = ratio
        return gaussians, basis, combination

    def _integral(self, places: list[Place], function: Callable[..., np.ndarray]) -> np.ndarray:
        gaussians, basis, combination = self._reduced(places)
        keys, forms = list(gaussians), list(gaussians.values())
        constants = [f.constant[a] for f, a in forms]

        def integrand(*xs: np.ndarray) -> np.ndarray:
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
        steps = straight_line(places, keys)
        is_symmetric = basis == [0, 1] == [*range(len(keys))] and (constants[0], breaks[0]) == (constants[1], breaks[1])
        # a product, and the square of a distance, stay the same where their values change places
        is_symmetric &= straight_line(places[::-1], keys[::-1]) == steps
        name = function, steps, combination.tobytes(), tuple(map(float, constants))
        return np.array(self._integrate(name, integrand, [forms[i] for i in basis], breaks, is_symmetric))

    def _integrate(
        self,
        name: Hashable,
        integrand: Callable[..., np.ndarray],
        basis: list[Leaf],
        breaks: list[list[float]],
        is_symmetric: bool,
    ) -> tuple[float, float]:
        """<f> and <|f|> of a function of some forms; ``is_symmetric`` says so of the function of two."""
        dimension = len(basis)
        if dimension == 0:
            return float(integrand()), abs(float(integrand()))
        if dimension > 4:
            found = f"it needs a {dimension}-dimensional integral"
            raise OracleLimit("the infinitely wide network", found, "rely on simulation")
        covariance = np.array([[self._covariance(x, y) for y in basis] for x in basis])
        sigma = np.sqrt(np.diag(covariance))
        if dimension == 1:
            points = _RESOLUTIONS[self._resolution][1]
            return self._panels.average1(name, integrand, float(sigma[0]), breaks[0], points)
        if dimension == 2:
            width = np.sqrt(self._determinant(covariance, basis) / covariance[0, 0])
            is_symmetric &= sigma[0] == sigma[1]
            panels = self._panels.plane(name, integrand, covariance, float(width), breaks, bool(is_symmetric))
            return panels.average(_RESOLUTIONS[self._resolution][2])
        factor = np.linalg.cholesky(covariance)
        wide = np.diag(factor) > 0.2 * sigma
        many, few = _TENSOR[self._resolution][int(wide.sum())], _NEARLY_EQUAL[self._resolution]
        reach = _TENSOR_REACH[self._resolution]
        return average_tensor(integrand, factor, [trapezoidal(many, reach) if w else hermite(few) for w in wide])

    def _determinant(self, covariance: np.ndarray, basis: list[Leaf]) -> float:
        (f, a), (g, b) = basis
        if f is not g:
            return float(np.linalg.det(covariance))
        difference = self._affine_difference(f, a, b)
        first, second = np.sqrt(np.diag(covariance))
        return float(((first + second) ** 2 - difference) * (difference - (first - second) ** 2) / 4)


def _product(*values: np.ndarray) -> np.ndarray:
    return np.asarray(np.prod(np.broadcast_arrays(*values), axis=0))


def _multiple(x: Leaf, y: Leaf) -> float | None:
    """The number by which one form is another's multiple at the same input, if there is one."""
    (f, a), (g, b) = x, y
    if a != b or f.coefficients.keys() != g.coefficients.keys():
        return None
    ratios = [float(f.coefficients[s][a] / g.coefficients[s][a]) for s in f.coefficients if g.coefficients[s][a]]
    if len(ratios) < len(f.coefficients) or max(ratios) - min(ratios) > 1e-15 * max(map(abs, ratios)):
        return None
    return ratios[0]


def pair_of(number: np.ndarray | float) -> np.ndarray:
    """A number that is known, and its size."""
    return np.array([number, abs(number)], dtype=float)
