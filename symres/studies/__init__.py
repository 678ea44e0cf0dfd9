"""What follows from a derived theory for a reader, before anyone decides how it is printed.

Read ``criticality_summary`` first: it turns a report into the conditions, flows and numbers that page and document
show; ``advice`` chooses an initialisation for a depth and a width, and tries it in networks that are drawn.
``kernel_expansions`` chooses the expansions that are shown, ``phase_flow`` follows kernels over the plane of
a phase diagram, ``plane_depths`` finds depth scales there, ``phase_ranges`` chooses the plane, ``phase_boundary`` finds
its lines.
``averages_survey`` and ``criticality_survey`` walk through many activations and layers, for the lists.
"""
