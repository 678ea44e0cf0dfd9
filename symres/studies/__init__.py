"""What follows from a derived theory for a reader, before anyone decides how it is printed.

Read ``criticality_summary`` first: it turns a report into the conditions, flows, numbers and expansions that page and
document show; ``advice`` chooses an initialisation for a depth and a width, and tries it in networks that are drawn.
Of a phase diagram, ``phase_plane`` chooses the plane
and finds its lines, ``phase_flow`` follows kernels over it and finds depth scales there. ``survey`` walks through many
activations and layers, for the lists.
"""
