"""What one network shows of some inputs, at places of it: tensors, tangents and gradients.

network_sample  everything that one network shows: statistics of places, arrays over places, inputs and probes
network_passes  passes of a network with something done at each place; squared norms of the Jacobians from the input to
                the places and to the output; gradients of a loss; random directions
adam_step       how far the first step of Adam moves the streams
"""
