"""Averages that a user asks for directly."""

from __future__ import annotations

import sympy as sp

from ...activations.activation import Activation
from ...activations.atom import Phi
from ...activations.catalogue import activation
from ...core import symbols
from ...core.errors import DeclarationError
from ...core.scalars import Number, scalar
from ...core.symbols import K1, K2, KERNELS, C, K, x1, x2, z
from ...gaussian.calculus.distributions import averaged
from ...gaussian.calculus.expectation import Gaussian
from ...layers.nodes import Node
from ...results.quantity import Quantity
from .build import build
from .build import derivative as _derivative


def expect(f: Activation | sp.Expr | str, mean: Number = 0) -> Quantity:
    """The Gaussian average ``<f(z)>_K``, z ~ N(mean, K).

    Args:
        f: an activation, its name, a formula in z as text ("gelu(z)^2"), or an expression in ``sr.z`` that may
            contain activations (``phi(sr.z)**2``), and real symbols, the parameters (``abs(sr.z)**p``).
        mean: of z: a number or a real sympy symbol.

    Returns:
        A Quantity in K, the mean and the parameters of f: EXACT with a verified closed form, or NUMERIC.

    Examples:
        >>> sr.expect("bell", mean=1).expr  # phi(z) = exp(-z^2/2)
        exp(-1/(2*(K + 1)))/sqrt(K + 1)
        >>> phi = sr.activation("z^4")
        >>> sr.expect(phi(sr.z) - 3*sr.z**2).expr
        3*K*(K - 1)
    """
    return build(
        "expect",
        (K,),
        averaged(_integrand(f, x1), Gaussian((K,), (_mean(mean),))),
        notation=r"\left\langle f \right\rangle_K",
        meaning=f"Gaussian average of {_named(f)}",
    )


def expect2(
    f: Activation | sp.Expr | str, g: Activation | sp.Expr | str, means: tuple[Number, Number] = (0, 0)
) -> Quantity:
    """The Gaussian average ``<f(z1) g(z2)>`` for two inputs with kernels K1, K2 and covariance C.

    Args:
        f: function of the first input, as for ``expect``.
        g: function of the second input.
        means: of the two inputs: numbers or real sympy symbols.

    Returns:
        A Quantity in K1, K2, C, the means and the parameters: EXACT with a verified closed form, or NUMERIC.

    Examples:
        >>> sr.expect2("sign", "sign").expr
        2*asin(C/(sqrt(K1)*sqrt(K2)))/pi
    """
    if not isinstance(means, tuple | list) or len(means) != 2:
        raise DeclarationError("the means of two inputs", f"{means!r}", "pass two: means=(m1, m2)")
    law = Gaussian((K1, C, K2), tuple(map(_mean, means)))
    return build(
        "expect2",
        (K1, K2, C),
        averaged(_integrand(f, x1) * _integrand(g, x2), law),
        notation=r"\left\langle f(z_1)\, g(z_2) \right\rangle",
        meaning=f"Gaussian average of {_named(f)} at the first input times {_named(g)} at the second",
    )


def _integrand(f: Activation | sp.Expr | str, x: sp.Symbol) -> sp.Expr:
    """A function in a bound variable: of an activation, or a polynomial in activations and z.

    Raises:
        DeclarationError: it is neither.
    """
    if not isinstance(f, sp.Expr) or not f.has(Phi):
        own = {s.name: s for s in f.free_symbols - {z}} if isinstance(f, sp.Expr) else {}
        return activation(f, **own)(x)
    atoms = {phi: sp.Dummy() for phi in f.atoms(Phi)}
    if not f.xreplace(atoms).is_polynomial(z, *atoms.values()):
        raise DeclarationError(
            f"the average of {f}",
            "it is not a polynomial in z and activations",
            "declare the function as an activation",
        )
    if f.has(Node):
        raise DeclarationError(f"the average of {f}", "it contains a node of a layer", "derive a Layer instead")
    return scalar(f, "f").xreplace({z: x})


def _mean(value: Number) -> sp.Expr:
    """The mean of an input: a real number or expression, without kernels.

    Raises:
        DeclarationError: it is another one.
    """
    mean = scalar(value, "mean")
    if mean.has(*KERNELS, z):
        raise DeclarationError("the mean of an input", f"{mean} contains a kernel", "use a separate parameter")
    if not mean.is_real:
        raise DeclarationError("the mean of an input", f"{mean} may be complex", "declare it as Symbol('m', real=True)")
    return mean


def _named(f: Activation | sp.Expr | str) -> str:
    return f.name if isinstance(f, Activation) else str(f)


def derivative(quantity: Quantity, symbol: sp.Symbol | str) -> Quantity:
    """The derivative of a quantity in one of its symbols, as a quantity: with closed forms, proof and verification.

    In kernels and covariances by Price's theorem and Stein's lemma, in means and parameters under the average, with
    the jumps that they move.

    Args:
        quantity: any result.
        symbol: one of ``quantity.symbols``, or its name.

    Returns:
        A Quantity in the same symbols: EXACT where its averages close, NUMERIC where not.

    Raises:
        DeclarationError: it is no quantity, or has no such symbol.
        NoClosedForm: the quantity is unknown.

    Examples:
        >>> sr.derivative(sr.expect("cos(2*z)"), "K").expr  # of exp(-2*K)
        -2*exp(-2*K)
    """
    if not isinstance(quantity, Quantity):
        raise DeclarationError(
            f"the derivative of {quantity!r}", "it is not a quantity", "pass a result, for instance expect('relu')"
        )
    known = {s.name: s for s in (*quantity.symbols, *quantity.unused)}
    own = known.get(str(symbol))
    if own is not None and symbol in (own, own.name):
        return _derivative(quantity, own)
    asked = f"the derivative of {quantity.name} in {symbol}"
    if own is not None:
        shared = f" or symres.core.symbols.{own}" if own == getattr(symbols, own.name, None) else ""
        raise DeclarationError(
            asked,
            f"its {own} is another symbol, with other assumptions than this one",
            f"pass the name {own.name!r}{shared}",
        )
    raise DeclarationError(
        asked, "it has no symbol of this name", f"choose one of {', '.join(s.name for s in quantity.symbols)}"
    )
