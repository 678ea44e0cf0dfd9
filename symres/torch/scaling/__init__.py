"""How training changes with the width of a model.

coordinate_check  networks of several widths trained for a few steps: one call
width_scaling     the result: exponents in the width, the best learning rates, a verdict, a figure
"""
