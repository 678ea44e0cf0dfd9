"""The kernels of the next layer."""

from __future__ import annotations

from ...results.observable import Section
from .layer_observable import LayerObservable, OfOneInput, OfTwoInputs, Subject


class _Squared(OfOneInput):
    def applies_to(self, subject: Subject) -> bool:
        return len(subject.walks.activations) == 1


PHI_SQUARED = _Squared(
    name="phi_squared",
    sign=("g", "g"),
    notation=r"\left\langle \phi^2 \right\rangle_K",
    meaning="Gaussian average of the squared activation",
    source="PDLT (B.13)",
    unit="phi^2",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.phi_squared(K),
    define=lambda walks: walks.squared,
    example='>>> sr.derive("gaussian_slope").phi_squared.expr  # phi(z) = z*exp(-z^2/2)\nK/(2*K + 1)**(3/2)',
)
KERNEL_MAP = OfOneInput(
    name="kernel_map",
    sign=("K'", "K'"),
    notation="K'",
    meaning="kernel of the next layer, one input",
    source="PDLT (B.12)",
    unit="K",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.kernel_map(K),
    define=lambda walks: walks.next_kernel,
    example=(
        '>>> sr.derive("erf").kernel_map.expr  # the arcsine kernel of Williams\n2*C_W*asin(2*K/(2*K + 1))/pi + C_b'
    ),
)
COVARIANCE_MAP = OfTwoInputs(
    name="covariance_map",
    sign=("C'", "C'"),
    notation="C'",
    meaning="covariance of the next layer, two inputs",
    source="PDLT (B.11)",
    unit="K",
    section=Section.MAPS,
    oracle=lambda layer, K1, K2, C: layer.covariance_map(K1, K2, C),
    define=lambda walks: walks.next_covariance,
    example=(
        '>>> sr.derive("sin(z) + cos(z)").covariance_map.expr  # the Gaussian kernel of random Fourier features\n'
        "C_W*exp(C - K1/2 - K2/2) + C_b"
    ),
)
OBSERVABLES: tuple[LayerObservable, ...] = (PHI_SQUARED, KERNEL_MAP, COVARIANCE_MAP)
