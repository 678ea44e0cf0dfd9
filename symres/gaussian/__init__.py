"""Gaussian averages: exact, as a series, or numeric with an error bound. Knows no network."""
