"""Numbers with guarantees, below everything that is derived: knows no activation and no average.

``balls`` evaluates expressions to numbers with error bounds; ``intervals`` proves statements for all z of an interval,
such as the sign of a formula; ``special`` has the special functions in which Gaussian averages close; ``roots`` finds
zeros of functions of the kernel and represents a root as an exact number.
"""
