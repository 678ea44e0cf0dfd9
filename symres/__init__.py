"""symres: symbolic derivation of the theory of deep networks."""
