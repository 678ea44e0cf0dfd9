"""SciPy's zeros of functions of floats, loaded by what needs one: importing it takes longer than many derivations."""

from __future__ import annotations

from collections.abc import Callable

from ..core.errors import NoClosedForm

_XTOL, _RTOL = 2e-12, 4 * 2.0**-52


def brent(
    function: Callable[[float], float], low: float, high: float, xtol: float = _XTOL, rtol: float = _RTOL
) -> float:
    """The zero of a function between two places where its signs differ, by Brent's method.

    Args:
        function: continuous, real.
        low: one place.
        high: the other.
        xtol: absolute error of the zero.
        rtol: relative error, in addition.

    Raises:
        NoClosedForm: the signs do not differ, a value is nan, or a hundred steps are not enough.
    """
    from scipy.optimize import brentq

    try:
        return float(brentq(function, low, high, xtol=xtol, rtol=rtol))
    except (ValueError, RuntimeError) as error:
        asked = f"a zero between {low:.6g} and {high:.6g}"
        raise NoClosedForm(
            asked, f"the search for it fails: {error}", "ask where the function changes its sign"
        ) from None
