"""NumPy: read ``dialect`` first; matrices are computed in ``tiles``, along one of the ``fast_paths``."""
