"""Numbers in double precision, for arrays at once: what finds things that balls prove.

Reading order: ``float_compiler`` (formulas to NumPy, as the records of functions spell them), ``float_function``
(piecewise functions), ``float_averages`` (their Gaussian averages and Hermite coefficients).
"""
