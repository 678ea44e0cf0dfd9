"""Names from other notations and libraries, and what to write in their place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

WHERE_REMEDY = "write where(z > 0, a, b): a where the comparison holds, b elsewhere"


def _gated(phi: str) -> str:
    """A gated linear unit is no function of one neuron: it multiplies two of them, and each has weights of its own."""
    return (
        f"it is a layer of {phi}, not an activation: derive {phi} --layer 'Dense(phi(Dense(z))*Dense(z))', in Python "
        f"sr.Layer(sr.Dense(phi(sr.Dense(sr.z))*sr.Dense(sr.z))) with phi = sr.activation('{phi}')"
    )


# in lower case, without underscores
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("piecewise", "if", "ifelse", "cases", "cond", "select"), WHERE_REMEDY),
        "heaviside": "did you mean step?",
        "logistic": "did you mean sigmoid?",
        "identity": "did you mean linear?",
        "cbrt": "write sign(z)*abs(z)^(1/3)",
        "starrelu": "write its formula: 0.8944*relu(z)^2 - 0.4472",
        **dict.fromkeys(("relu2", "squaredrelu"), "write its formula: relu(z)^2"),
        "quickgelu": "write its formula: z*sigmoid(1.702*z)",
        "glu": _gated("sigmoid"),
        "swiglu": _gated("silu"),
        "geglu": _gated("gelu"),
        "reglu": _gated("relu"),
    }
)


def foreign_remedy(name: str) -> str:
    """What to write in the place of a name; empty if it is not in the table.

    Args:
        name: in any spelling: star_relu and StarReLU are one.
    """
    return _REMEDIES.get(name.lower().replace("_", ""), "")
