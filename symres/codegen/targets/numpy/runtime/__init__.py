"""The functions that NumPy modules alone contain: evaluation in blocks and in tiles, what procedures begin with."""
