"""Residual blocks, and layers, of a model are rescaled until measured kernels and gradients keep their size.

gradient_passes   passes in which every tensor has its graph; the sums of two tensors that they come by
batch_errors      errors where batch normalisation makes inputs depend on each other; random cotangents
tuning_report     what can be kept, what is solved for; what was found and set
blockwise         residual blocks
layer_rescaling   layers without skip connections
tune              the call
"""
