"""Residual blocks, and layers, of a model are rescaled until measured kernels and gradients keep their size.

additions         the sums of two tensors that a pass comes by
gradient_passes   passes in which every tensor has its graph
batch_errors      errors where batch normalisation makes inputs depend on each other
jacobian_probes   norms and traces of Jacobians from random cotangents
tuning_targets    what can be kept, and what is solved for
tuning_report     what was found and set
blockwise         residual blocks
layerwise         layers without skip connections
tune              the call
"""
