"""The words of generated modules: ``docstrings`` states domains and errors, ``function_names`` checks names."""
