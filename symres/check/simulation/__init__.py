"""Finite networks of a layer, and averages over them extrapolated to infinite width.

Reading order: ``simulate`` (the observables), ``width_extrapolation`` (from several widths to the limit),
``partial_jacobians`` (derivatives of deep networks, also for users; single networks, for advice).
"""
