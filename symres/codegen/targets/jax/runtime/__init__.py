"""The functions that JAX modules contain instead of those of ``arrays/runtime``, or beside them.

The files import JAX, and are read, never imported, when code is generated. Nothing in them depends on the data but by
``where`` and ``lax.cond``: ``jax.jit`` compiles them, ``jax.vmap`` maps them, ``jax.grad`` and ``jax.hessian``
differentiate them.
"""
