"""How fast fluctuations grow with depth at criticality, and how deep a network of finite width should be.

Reading order: ``two_times`` (covariances of one neuron with its own past), ``noise_covariances`` (of what it adds to
the next kernels), ``geometric_sum`` (their sum over all times), ``vertex_growth`` (what each layer adds where the
kernel stays), ``limits_of_nu`` and ``nu`` (the growth at a critical point, how fast it is approached, and the aspect
ratio depth/width that it makes optimal), ``optimal_gamma`` (the inverse).
"""
