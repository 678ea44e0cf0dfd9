"""Populations of neurons in a layer; how their statistics respond is in the tests of fluctuations."""

import symres as sr
from symres.theory.finite_width.layer_response import LayerResponse


def test_populations_of_other_widths_are_independent():
    z = sr.z
    layer = sr.Layer(z + sr.Dense(sr.activation("relu")(sr.Dense(z, width=2))))
    response = LayerResponse(layer.program)
    first, second = response.averages
    assert response.covariance(first, second) == 0
    assert response.averages[second].width == 2
