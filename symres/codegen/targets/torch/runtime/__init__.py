"""The functions that PyTorch modules contain instead of those of ``arrays/runtime``, or beside them.

The files import PyTorch, and are read, never imported, when code is generated.
"""
