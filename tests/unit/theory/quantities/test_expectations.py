"""Averages that a user asks for directly: ways to write them, and what is refused."""

import symres as sr


def test_two_ways_to_the_same_quantity():
    phi = sr.activation("gelu")
    assert sr.expect(phi(sr.z) ** 2).expr == sr.expect("gelu(z)^2").expr
