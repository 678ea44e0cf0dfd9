"""What a generated module defines; here for plain Python, so that the drivers can be read and tested."""

from __future__ import annotations

from ..library.machine import Given, Written


def factor_block(number: int, nodes: int, step: float, roots: Given, p: Given, even: Written, odd: Written) -> None:
    """Sums and differences of a function at opposite nodes, for a block of inputs."""
    raise NotImplementedError


def factor_kernel(number: int, K: float, p: Given) -> float:
    """The variance of the argument of a function, for an input of kernel K."""
    raise NotImplementedError
