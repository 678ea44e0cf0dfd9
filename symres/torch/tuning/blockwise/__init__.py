"""Residual blocks z' = gamma z + xi R(z) as black boxes, tuned one after the other.

residual_places     where a chosen module stands: a whole block z -> z + R(z), or a branch R that is added to a stream
stream_passes       passes in which something is done with z and R of every place, and another stream goes on; tangents
branch_conditions   measurements of z and R, and the weights at which kernel, gradient or APJN keep their size
branch_weights      what scales a branch, or a skip, exactly: found and verified by runs
block_changes       what is done with a block of the model itself, and a module gamma z + xi (block(z) - z)
block_tuning        all blocks, each on the stream that the tuned ones before it give
"""
