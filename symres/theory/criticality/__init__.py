"""Where deep networks neither explode nor vanish: K' = K with both susceptibilities 1.

Read ``analysis`` first: it names the universality class, from critical points with K* > 0 and K* = 0, or kernels that
grow slowly (``kernel_flow``, with the approach to a point with depth). ``critical_conditions`` solves the conditions
for the variances of weights and biases; ``parameter_effects`` removes a parameter that only sets the unit of kernels,
and tells the sign of an expression in parameters, on which existence and stability of a point depend;
``numerical_search`` is for layers whose conditions have no formula.

Critical lines are pairs of C_W and C_b for which a layer keeps a kernel with chi_perp = 1: ``critical_line`` (points
in numbers, and the form along the kernel), ``explicit_line`` (C_b as a function of C_W, where quadratic equations give
it, and lines of which every point is a critical point).

``phase`` answers at given parameters, also for the correlation of two inputs.
"""
