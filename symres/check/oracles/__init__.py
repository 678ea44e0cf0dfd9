"""Oracles that find a quantity from its definition, and the comparison of their numbers with claims.

Reading order: ``layer_oracle`` (maps of a layer at infinite width), ``average_oracle`` (a single Gaussian average),
``comparison`` (two numbers to a verdict), then ``natural_scales``, which says where to compare.
"""
