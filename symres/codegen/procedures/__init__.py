"""Modules that compute numbers from generated functions of one layer: by a recursion in depth, or by a search."""
