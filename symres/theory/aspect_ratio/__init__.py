"""How fast fluctuations grow with depth at criticality, and how deep a network of finite width should be.

Reading order: ``two_times`` (covariances of one neuron with its own past), ``geometric_sum`` (their sum over all times),
``vertex_growth`` (nu, the growth of the four-point vertex for each layer), ``optimal_depth`` (the aspect ratio depth/width
that a criterion of mutual information prefers, and its inverse).
"""
