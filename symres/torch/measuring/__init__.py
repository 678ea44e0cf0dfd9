"""Kernels and Jacobian norms of a PyTorch model, place by place, and what they say about its depth.

Reading order: ``measure`` (one call), then inwards

signals        the result, ``Measurement``: table, JSON, text, place by place with the theory beside it
place_signals  one place: averages over networks, inputs and probes with errors; the theory that it is compared with
depth_fit      growth with depth: exponential or power law; ordered, critical or chaotic
signal_figure  the figure
"""
