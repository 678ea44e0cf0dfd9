"""Finite networks of a layer, and averages over them extrapolated to infinite width.

Reading order: ``simulate`` (the observables), ``width_extrapolation`` (from several widths to the limit),
``jacobian_norms`` and ``partial_jacobians`` (derivatives of deep networks, also for users).
"""
