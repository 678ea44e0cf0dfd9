"""Averages that a user asks for directly."""

from __future__ import annotations

import sympy as sp

from .declare.activation import Activation
from .declare.catalogue import activation
from .declare.nodes import Node
from .declare.phi import Phi
from .errors import DeclarationError
from .gaussian.expectation import Expectation
from .quantity import Quantity
from .scalars import scalar
from .symbols import K1, K2, C, K, x1, x2, z
from .theory.build import build


def expect(f: Activation | sp.Expr | str) -> Quantity:
    """The Gaussian average ``<f(z)>_K``, z ~ N(0, K).

    Args:
        f: an activation, its name, a formula in z as text ("gelu(z)^2"), or an expression in ``sr.z`` that may
            contain activations (``phi(sr.z)**2``).

    Returns:
        A Quantity in K and the parameters of f: EXACT with a verified closed form, or NUMERIC.
    """
    return build(
        "expect",
        (K,),
        Expectation(_integrand(f, x1), K),
        notation=r"\left\langle f \right\rangle_K",
        meaning=f"Gaussian average of {_named(f)}",
    )


def expect2(f: Activation | sp.Expr | str, g: Activation | sp.Expr | str) -> Quantity:
    """The Gaussian average ``<f(z1) g(z2)>`` for two inputs with kernels K1, K2 and covariance C.

    Args:
        f: function of the first input, as for ``expect``.
        g: function of the second input.

    Returns:
        A Quantity in K1, K2, C: EXACT with a verified closed form, or NUMERIC.
    """
    return build(
        "expect2",
        (K1, K2, C),
        Expectation(_integrand(f, x1) * _integrand(g, x2), K1, C, K2),
        notation=r"\left\langle f(z_1)\, g(z_2) \right\rangle",
        meaning=f"Gaussian average of {_named(f)} at the first input times {_named(g)} at the second",
    )


def _integrand(f: Activation | sp.Expr | str, x: sp.Symbol) -> sp.Expr:
    if not isinstance(f, sp.Expr) or not f.has(Phi):
        return activation(f)(x)
    atoms = {phi: sp.Dummy() for phi in f.atoms(Phi)}
    if not f.xreplace(atoms).is_polynomial(z, *atoms.values()):
        raise DeclarationError(
            f"the average of {f}", "it is no polynomial in z and activations", "declare the function as an activation"
        )
    if f.has(Node):
        raise DeclarationError(f"the average of {f}", "it contains a node of a layer", "derive a Layer instead")
    return scalar(f, "f").xreplace({z: x})


def _named(f: Activation | sp.Expr | str) -> str:
    return f.name if isinstance(f, Activation) else str(f)
