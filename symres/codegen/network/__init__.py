"""A deep network as one generated function: ``network_maps`` holds the maps, ``network_module`` prints them."""
