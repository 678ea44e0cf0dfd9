"""Critical lines: pairs of C_W and C_b for which a layer keeps a kernel with chi_perp = 1.

Read ``critical_line`` first (its points in numbers, and its form along the kernel), then ``explicit_line`` (C_b as a
function of C_W, where quadratic equations give it, and lines of which every point is a critical point).
"""
