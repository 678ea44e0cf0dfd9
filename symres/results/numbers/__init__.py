"""Results that are numbers: with errors, on several branches, as responses of deep networks, or how to compute them."""
