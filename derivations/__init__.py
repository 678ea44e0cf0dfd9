"""Experiments on trained networks, figures of the literature on PyTorch models, and the examples of the gallery."""
