"""Averages of two functions as series in the correlation, by sums in the plane and between breakpoints.

The modules are read, never imported, when code is generated; ``xp`` is the array library. ``hermite_series`` is for
libraries whose arrays can be changed.
"""
