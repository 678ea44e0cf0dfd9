"""Modules for array libraries of Python: what NumPy, PyTorch and others have in common.

Read ``array_target`` first: a module is its functions, by the templates of ``templates``, and what they call of the
real source files in ``runtime``, which ``runtime_library`` reads. ``array_code`` says what differs from library to
library; ``component_text``, ``network_text`` and ``procedure_text`` write what does not.
"""
