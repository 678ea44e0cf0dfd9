"""The run-time library in Numba's words; read, never imported, by the generator."""
