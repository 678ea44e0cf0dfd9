"""Kernels and Jacobian norms of a PyTorch model, place by place, and what they say about its depth.

Reading order: ``measure`` (one call), then inwards

network_passes       what one network is asked: passes of the model with a tensor, a tangent or a gradient at each place
place_statistics     kernels, means, covariances and cosines of the tensor at a place
tangents, cotangents squared norms of Jacobians from the input to the places, and from the places to the output
averaging            from the samples of networks, inputs and probes to numbers with standard errors
signals              the result: ``Measurement``, its table
prediction           the theory that it is compared with
depth_fit            growth with depth: exponential or power law, ordered, critical or chaotic
signal_figure        the figure
peak_memory          how many bytes it took
"""
