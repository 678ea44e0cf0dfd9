"""How outputs respond to small changes of the kernel of the inputs, and the branch scale that makes them respond most.

Reading order: ``kernel_response`` (maps of one layer with their derivatives, compiled; products of slopes along the
layers up to a readout, and their power law in depth), ``branch_scale`` (the maximum over xi at a depth, that of linear
layers, and its limit for deep networks), ``maximum_entropy`` (another condition on the last kernel).
"""
