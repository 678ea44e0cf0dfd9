"""Feature matrices as NumPy targets take them; real source that generated modules contain."""
