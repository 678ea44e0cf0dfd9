"""Many layers, one after the other.

Read ``network`` first: it iterates the maps of layers with numbers; ``jacobian_product`` has the closed form of a
product of susceptibilities, where there is one; ``fluctuating_network`` has what fluctuates at finite width, and
``vertex_recursion`` that as formulas of one layer; ``infinite_depth`` is the limit of many layers with small branches,
an ordinary differential equation in the depth.
"""
