"""Kernels and Jacobian norms of a PyTorch model, place by place, and what they say about its depth.

Reading order: ``measure`` (one call), then inwards

signals        the result, ``Measurement``: table, JSON, text, place by place with the theory beside it
place_signals  what is known of one place, and the theory that it is compared with
averaging      from the samples of networks, inputs and probes to numbers with standard errors
depth_fit      growth with depth: exponential or power law; ordered, critical or chaotic
signal_figure  the figure
"""
