"""The records of all functions by family; to add a function, add its record to one of these modules."""

from . import elementary_functions, error_family, gaussian_signs, softmax_family

__all__ = ["elementary_functions", "error_family", "gaussian_signs", "softmax_family"]
