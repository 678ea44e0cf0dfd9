"""Plots: maps of one kernel (``maps_figure``) and phase diagrams over two parameters (``phase_diagram``).

Read ``maps_figure`` first. The values of both come from a generated NumPy module, so that no pixel needs a
quadrature. ``phase_picture`` draws what ``phase_diagram`` computes, with ``phase_colours``; ``advised_point`` is what
both show of advice. ``style`` has the settings of matplotlib, numbers on axes and the metadata that make equal plots
equal files, ``styled_figure`` a figure that notebooks show; matplotlib itself is imported when a plot is drawn.
"""
