"""Plots: maps of one kernel (``maps_figure``) and phase diagrams over two parameters (``phase_diagram``).

Read ``maps_figure`` first. The values of both come from a generated NumPy module, so that no pixel needs a
quadrature. ``phase_picture`` draws what ``phase_diagram`` computes, with ``phase_colours``. ``style`` has settings of
matplotlib, numbers on axes, the metadata that make equal plots equal files, and what plots show of advice,
``styled_figure`` a figure that notebooks show; matplotlib itself is imported when a plot is drawn.
"""
