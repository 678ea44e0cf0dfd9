"""Many layers, one after the other.

Read ``network`` first: it iterates the maps of layers with numbers. ``fluctuating_network`` has what fluctuates at
finite width, and ``depth_procedures`` that as functions of one layer; ``infinite_depth`` is the limit of many layers
with small branches, an ordinary differential equation in the depth.
"""
