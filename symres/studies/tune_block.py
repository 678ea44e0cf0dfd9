"""Criticality of a residual block that was measured and not derived (PDLT B.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..core.errors import DeclarationError
from ..core.scalars import Number, number
from ..numerics.deferred_numpy import Array, np

Correlator: TypeAlias = "Number | Sequence[Sequence[Number]] | Array"  # a number, or a matrix of pairs of samples

_ASKED = "the tuning of a block"


def tune_block(
    G_RR: Correlator,
    G_zz: Correlator,
    G_Rz: Correlator = 0,
    *,
    gamma: Number | None = None,
    xi: Number | None = None,
) -> float:
    """The weight that keeps the size of the stream in ``z' = xi R(z) + gamma z``, for any block R.

    Solves ``(1 - gamma^2) G_zz = xi^2 G_RR + 2 gamma xi G_Rz`` (PDLT (B.45)).

    Args:
        G_RR: mean square of the block's output, over neurons, samples and initialisations; or the matrix of two-point
            correlators of samples, of which the diagonal counts.
        G_zz: of the stream that enters.
        G_Rz: mean product of both; 0 for blocks that end with fresh weights of mean 0.
        gamma: weight of the stream, from -1 to 1; then xi >= 0 is returned.
        xi: weight of the block; then the larger gamma is returned.

    Raises:
        DeclarationError: both weights or none are given, correlators that nothing can have, gamma outside of [-1, 1],
            or an xi for which no gamma keeps the size.

    Examples:
        >>> round(sr.tune_block(G_RR=0.5, G_zz=1, gamma=0.8), 9)  # sqrt((1 - 0.64)/0.5)
        0.848528137
        >>> round(sr.tune_block(G_RR=0.5, G_zz=1, xi=1)**2, 9)  # 1 - 0.5
        0.5
    """
    if (gamma is None) == (xi is None):
        raise DeclarationError(_ASKED, "it needs one of gamma and xi", "pass gamma=, to get xi, or xi=, to get gamma")
    sizes = {len(G) for G in (G_RR, G_zz, G_Rz) if isinstance(G, Sequence | np.ndarray)}
    if len(sizes) > 1:
        counts = " and of ".join(map(str, sorted(sizes)))
        raise DeclarationError(_ASKED, f"the correlators are of {counts} samples", "measure all three together")
    block, stream, both = (_mean_diagonal(G, name) for G, name in ((G_RR, "G_RR"), (G_zz, "G_zz"), (G_Rz, "G_Rz")))
    if block <= 0 or stream <= 0:
        raise DeclarationError(_ASKED, f"G_RR = {block:g}, G_zz = {stream:g}", "both are mean squares, greater than 0")
    if both**2 > block * stream * (1 + 1e-12):
        raise DeclarationError(
            _ASKED, f"G_Rz^2 = {both**2:g} is greater than G_RR G_zz = {block * stream:g}", "measure all three together"
        )
    if gamma is not None:
        weight = float(number(gamma, "gamma"))
        if abs(weight) > 1:
            raise DeclarationError(
                f"{_ASKED} at gamma = {weight:g}", "gamma alone makes the kernel grow", "pass gamma from -1 to 1"
            )
        return _larger_root(block, 2 * weight * both, (weight**2 - 1) * stream)
    assert xi is not None
    scale = float(number(xi, "xi"))
    if (scale * both) ** 2 < stream * (scale**2 * block - stream):
        most = float(np.sqrt(stream / (block - both**2 / stream)))
        raise DeclarationError(
            f"{_ASKED} at xi = {scale:g}", "xi alone makes the kernel grow", f"pass |xi| <= {most:.6g}"
        )
    return _larger_root(stream, 2 * scale * both, scale**2 * block - stream)


def _larger_root(a: float, b: float, c: float) -> float:
    """Of ``a x^2 + b x + c`` with a > 0 and real roots, without cancellation."""
    root = np.sqrt(max(b * b - 4 * a * c, 0.0))
    return float((root - b) / (2 * a)) if b <= 0 else float(-2 * c / (b + root)) + 0.0


def _mean_diagonal(G: Correlator, name: str) -> float:
    """A correlator at equal samples, averaged over them.

    Raises:
        DeclarationError: it is neither a number nor a square matrix.
    """
    if not isinstance(G, Sequence | np.ndarray) or isinstance(G, str):
        return float(number(G, name))
    matrix = np.asarray(G, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = "x".join(map(str, matrix.shape))
        raise DeclarationError(
            f"the correlator {name} of shape {shape}",
            "it is not a square matrix over samples",
            "pass a number, or P x P",
        )
    if not np.isfinite(matrix).all():
        raise DeclarationError(f"the correlator {name}", "it is not finite", "measure it again")
    return float(np.mean(np.diag(matrix)))
