"""Closed forms rewritten so that floats lose no digits.

Read ``primitives`` first, functions that are computed without cancellation; ``rewrites`` brings formulas to them.
``angles`` and ``correlation_form`` treat functions of two inputs, with sums of ``positive_terms``; ``tail_slopes`` are
their derivatives where tails stand in them; ``rounding_error`` bounds what rounding costs.
"""
