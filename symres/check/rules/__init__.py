"""Integration rules for Gaussian averages in double precision, adapted to kinks, jumps and tails.

Reading order: ``adaptive_panels`` (one variable), ``nested_panels`` (two correlated variables).
"""
