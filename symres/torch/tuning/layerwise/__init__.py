"""Layers without skip connections, rescaled one after the other.

layer_samples     kernel and Jacobian norm of one layer
layer_rescaling   all of them: each on what the rescaled ones before it give
"""
