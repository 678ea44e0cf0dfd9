"""How a component is computed, by measured errors.

Read ``choose`` first: closed form, fit or quadrature. ``measured_error`` compares generated code with ball arithmetic
at the points of ``sample_points``.
"""
