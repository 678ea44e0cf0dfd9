"""Modules of generated code: what is computed how, and the printers of NumPy and PyTorch."""
