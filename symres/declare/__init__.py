"""What a user declares: activations, nodes, layers, and the program that a layer lowers to."""
