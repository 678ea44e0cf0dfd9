"""What a module computes, before any language.

Read ``plan`` first: quantities become functions that call components. ``homogeneity`` finds parameters that only set a
scale, ``component_lines`` writes the lines that components have in every target, ``language`` describes a target.
"""
