"""The languages of generated modules: each package prints one, and none knows another."""
