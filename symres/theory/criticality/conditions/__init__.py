"""The critical conditions K' = K, chi_parallel = chi_perp = 1, solved for the variances of weights and biases.

Read ``critical_conditions`` first. ``scaling_symmetry`` removes a parameter that only sets the unit of kernels;
``parameter_signs`` tells the sign of an expression in parameters, on which existence and stability of a point depend.
"""
