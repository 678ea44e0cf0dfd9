"""The layer that makes the output of a network, where none is given."""

from __future__ import annotations

from collections.abc import Sequence

from ...activations.activation import Activation
from ...core.errors import DeclarationError
from ...layers.architectures import mlp
from ..observables.layer_theory import LayerTheory


def readout_of(layers: Sequence[LayerTheory]) -> LayerTheory:
    """A dense layer after the activation of the last layer, ``mlp(phi)`` with the same C_W and C_b.

    Raises:
        DeclarationError: there is no layer, or it has several activations or none.
    """
    formulas = layers[-1].layer.formulas if layers else ()
    if len(formulas) != 1:
        raise DeclarationError(
            "the response of an output",
            f"the last layer has {len(formulas)} activations, so that the readout has to be chosen",
            "pass readout=sr.derive(sr.mlp(phi)), or sr.derive(sr.Layer(sr.Dense(sr.z)))",
        )
    (formula,) = formulas
    return LayerTheory(mlp(Activation(formula.name, formula.expr, formula.parameters)))
