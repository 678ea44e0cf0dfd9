"""The observables of a layer: one record each, with its names, its derivation and its oracle.

Reading order: ``layer_walks`` (the laws that observables are derived from), ``layer_observable`` (records that say
how), then the records themselves: ``layer_maps`` and ``deep_networks`` (finite width). The ``registry`` lists them by
name, and ``layer_theory`` offers them as attributes.
"""
