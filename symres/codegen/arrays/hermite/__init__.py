"""Averages of two smooth functions as series in the correlation, sums in the plane, and parts of matrices.

The modules are read, never imported, when code is generated; ``xp`` is the array library. ``hermite_series`` and
``matrix_parts`` are for libraries whose arrays can be changed.
"""
