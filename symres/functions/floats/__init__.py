"""Numbers in double precision, for arrays at once: what finds things that balls prove.

``float_compiler`` has formulas in NumPy, as the records of functions spell them, ``float_averages`` piecewise functions
with their Gaussian averages and Hermite coefficients.
"""
