"""Layers on grids of positions, in numbers: between two draws, arrays of covariances are mapped entry by entry.

Read ``stretches`` first (a layer as closed formulas of one pair of positions, one list for each draw), then
``grid_law`` (the law of the neurons at all positions, from the arrays that enter a layer), then ``grid_network``.
"""
