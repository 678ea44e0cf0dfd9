"""What can go wrong: every message says what was asked, what was found and what to do."""

from __future__ import annotations


class SymresError(Exception):
    """Base of every error that symres raises on purpose.

    Args:
        asked: what the caller wanted.
        found: what stands in the way.
        remedy: what to do about it.

    Examples:
        >>> try:
        ...     sr.activation("gelo")
        ... except sr.SymresError as error:
        ...     print(error.asked, error.found, error.remedy, sep=" | ")
        activation gelo | unknown name | did you mean gelu? A formula in z is welcome too, such as z*tanh(z)
    """

    def __init__(self, asked: str, found: str, remedy: str) -> None:
        super().__init__(asked, found, remedy)
        self.asked = asked
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}; {self.remedy}"


class DeclarationError(SymresError):
    """A formula, a name, a parameter or a number that cannot be declared.

    Examples:
        >>> sr.tune_block(G_RR=1, G_zz=1, gamma=2)
        Traceback (most recent call last):
            ...
        symres.core.errors.DeclarationError: the tuning of a block at gamma = 2: gamma alone makes the kernel grow;
        pass gamma from -1 to 1
    """


class NoClosedForm(SymresError):
    """The exact engine does not close on this average; numbers with error bounds remain available.

    Examples:
        >>> sr.derive("cube").maximum_entropy_kernel
        Traceback (most recent call last):
            ...
        symres.core.errors.NoClosedForm: the maximum entropy of cube: its limits at -oo and oo are not shown to be
        finite and different; take a bounded, increasing activation such as erf or tanh
    """


class OutOfBudget(NoClosedForm):
    """A stage was given up after the work that it may take; see ``symres.budget``.

    Examples:
        >>> with sr.budget(1e-6):
        ...     sr.activation("z*tanh(z)*erf(z)")
        Traceback (most recent call last):
            ...
        symres.core.errors.OutOfBudget: activation z*tanh(z)*erf(z): it was given up after 2e-06 million operations;
        allow ten times as much: within symres.budget(10), or with SYMRES_BUDGET=10 in the environment
    """


class UnsupportedLayer(SymresError):
    """A forward equation whose infinite-width theory symres cannot derive.

    Examples:
        >>> sr.layer("relu(z)")
        Traceback (most recent call last):
            ...
        symres.core.errors.UnsupportedLayer: the layer z' = relu(z): it is not linear in z, so the next layer's
        preactivations are not Gaussian; put a Dense around the nonlinear part
    """


class CheckRefuted(SymresError):
    """An oracle contradicts a derived result.

    Examples:
        The average of z^2 is K, so that the claim 2 K is refuted:

        >>> import dataclasses
        >>> wrong = dataclasses.replace(sr.expect("z^2"), body=2*sr.K)
        >>> report = sr.check(wrong, against="quadrature", points=1, progress=False)
        >>> try:
        ...     report.raise_if_refuted()
        ... except sr.CheckRefuted as error:
        ...     print(error.found.partition(" +-")[0])
        claimed 160.2, quadrature finds 80.1
    """


class UnavailableDerivative(SymresError, NotImplementedError):
    """A derivative that a generated function does not have."""
