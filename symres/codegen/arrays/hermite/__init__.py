"""Averages of two smooth functions as series in the correlation, and parts of matrices: for arrays that are changed.

``hermite_series`` and ``matrix_parts`` are read, never imported, when code is generated; ``xp`` is the array library.
"""
