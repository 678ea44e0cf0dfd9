"""How fast fluctuations grow with depth at criticality, and how deep a network of finite width should be.

Reading order: ``vertex_growth`` (what one neuron adds to the next kernels, now and later; what each layer adds where
the kernel stays), with ``geometric_sum`` (a sum over all times), ``nu`` (the growth at a critical point, how fast it is
approached, and the aspect ratio depth/width that it makes optimal), ``growth_curves`` (the same in floats
along gamma, and the inverse).
"""
