"""Averages that are asked for again: the same integrand under the same law, at two resolutions and in many nets.

A sequence of nearby inputs has one kernel, and planning panels costs many times what averaging on them does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .adaptive_panels import Function, adapted, average1
from .nested_panels import Plane, plane


class SharedPanels:
    """What is known of integrands that have names: equal names are equal functions with equal breaks.

    Args:
        points: nodes per panel, in one and in two dimensions, that panels are planned for.
        tolerance: allowed error of a panel, in one and in two dimensions.
    """

    def __init__(self, points: tuple[int, int], tolerance: tuple[float, float]) -> None:
        self._points, self._tolerance = points, tolerance
        self._edges: dict[tuple[Hashable, float], np.ndarray] = {}
        self._averages: dict[tuple[Hashable, float, int], tuple[float, float]] = {}
        self._planes: dict[tuple[Hashable, bytes, float], Plane] = {}

    def average1(
        self, name: Hashable, function: Function, sigma: float, breaks: Sequence[float], points: int
    ) -> tuple[float, float]:
        """<f(x)> and <|f(x)|> for x ~ N(0, sigma^2), with so many nodes per panel.

        Raises:
            SymresError: the function varies too fast, or the average has mass that doubles do not reach.
        """
        if (name, sigma) not in self._edges:
            self._edges[name, sigma] = adapted(function, sigma, breaks, self._points[0], self._tolerance[0])
        if (name, sigma, points) not in self._averages:
            self._averages[name, sigma, points] = average1(function, sigma, self._edges[name, sigma], points)
        return self._averages[name, sigma, points]

    def plane(
        self,
        name: Hashable,
        function: Function,
        covariance: np.ndarray,
        width: float,
        breaks: Sequence[Sequence[float]],
    ) -> Plane:
        """Panels for <f(x1, x2)>.

        Args:
            name: of the function.
            function: takes two arrays that broadcast.
            covariance: 2 x 2, regular.
            width: standard deviation of x2 given x1.
            breaks: for each variable, the places where the function is not smooth.

        Raises:
            SymresError: the function varies too fast, or the average has mass that doubles do not reach.
        """
        law = name, covariance.tobytes(), width
        if law not in self._planes:
            self._planes[law] = plane(function, covariance, width, breaks, self._points[1], self._tolerance[1])
        return self._planes[law]
