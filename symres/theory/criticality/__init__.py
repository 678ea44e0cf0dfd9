"""Where deep networks neither explode nor vanish: K' = K with both susceptibilities 1.

Read ``analysis`` first: it names the universality class, from critical points with K* > 0 (``conditions``), with K* = 0
or kernels that grow slowly (``vanishing_kernel``). ``numerical_search`` is for layers
whose conditions have no formula, ``lines`` for critical lines, ``decay_exponents`` for the approach to a point with
depth. ``phase`` and, of two inputs, ``correlation_map`` answer at given parameters.
"""
