"""The points of comparison: ``random_points`` draws kernels, covariances and parameters from a seed."""
