"""PyTorch: ``dialect`` has the spelling, the sources, and derivatives where autograd would lose them."""
