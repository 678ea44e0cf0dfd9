"""How fast fluctuations grow with depth at criticality, and how deep a network of finite width should be.

Reading order: ``noise_covariances`` (of what one neuron adds to the next kernels, now and later), ``geometric_sum``
(their sum over all times), ``vertex_growth`` (what each layer adds where the kernel stays), ``nu`` (the growth at a
critical point, how fast it is approached, and the aspect ratio depth/width that it makes optimal), ``growth_numbers``
(the same in floats), ``optimal_gamma`` (the inverse).
"""
