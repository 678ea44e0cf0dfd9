"""The records of all functions by family; to add a function, add its record to one of these modules."""

from . import error_family, exponential_family, gaussian_signs, hyperbolic, selections, trigonometric

__all__ = ["error_family", "exponential_family", "gaussian_signs", "hyperbolic", "selections", "trigonometric"]
