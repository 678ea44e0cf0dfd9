"""Functions that are sums over the powers of a weight: nu(gamma) and what is made of it."""
