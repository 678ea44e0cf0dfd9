"""Plots: maps of one kernel (``maps_figure``) and phase diagrams over two parameters (``phase_diagram``).

Their values come from a generated NumPy module, so that no pixel needs a quadrature. ``style`` has the settings of
matplotlib and the metadata that make equal plots equal files; matplotlib itself is imported when a plot is drawn.
"""
