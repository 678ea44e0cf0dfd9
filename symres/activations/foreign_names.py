"""Names from other notations and libraries: what to write in their place, or that symres has no theory for them.

A name is looked up where an activation, a layer or a function of an equation is expected and nothing has that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

WHERE_REMEDY = "write where(z > 0, a, b): a where the comparison holds, b elsewhere"


def _gated(phi: str) -> str:
    """A gated linear unit is no function of one neuron: it multiplies two of them, and each has weights of its own."""
    return (
        f"it is a layer of {phi}, not an activation: derive {phi} --layer 'Dense(phi(Dense(z))*Dense(z))', in Python "
        f"sr.Layer(sr.Dense(phi(sr.Dense(sr.z))*sr.Dense(sr.z))) with phi = sr.activation('{phi}')"
    )


def _without_theory(what: str) -> str:
    """What depends on order, time or chance has no forward equation here; models that have it are measured."""
    return (
        f"symres has no theory for {what}; symres.torch measures, reads and initialises PyTorch models that have it: "
        "st.measure(model, x)"
    )


_ATTENTION = "in an equation it is Attention(u): z + Attention(LayerNorm(z)); the layer with it is transformer"
_CONVOLUTION = "in an equation it is Conv(u): z + Conv(phi(LayerNorm(z))); the layer with it is conv_resnet"
_POOLING = "the average over positions is Pool(u): Dense(Pool(phi(z)))"
_MAXIMUM = (
    f"the maximum of activations is not Gaussian, and needs as many variables as the window has pixels; {_POOLING}"
)
_RECURRENCE = _without_theory("recurrent layers")

# in lower case, without underscores
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("piecewise", "if", "ifelse", "cases", "cond", "select"), WHERE_REMEDY),
        "heaviside": "did you mean step?",
        "logistic": "did you mean sigmoid?",
        "identity": "did you mean linear?",
        "cbrt": "write sign(z)*abs(z)^(1/3)",
        "starrelu": "write its formula: 0.8944*relu(z)^2 - 0.4472",
        **dict.fromkeys(("relu2", "squaredrelu"), "write its formula: relu(z)^2"),
        "quickgelu": "write its formula: z*sigmoid(1.702*z)",
        "glu": _gated("sigmoid"),
        "swiglu": _gated("silu"),
        "geglu": _gated("gelu"),
        "reglu": _gated("relu"),
        **dict.fromkeys(("attention", "selfattention", "multiheadattention", "mha", "vit"), _ATTENTION),
        **dict.fromkeys(("gpt", "gpt2", "bert", "llama"), _ATTENTION),
        "unet": _without_theory("layers that change the number of positions back and forth"),
        **dict.fromkeys(("softmax", "logsoftmax", "softmin", "softmax2d"), _without_theory("softmax")),
        **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution", "cnn"), _CONVOLUTION),
        **dict.fromkeys(("maxpool", "maxpool1d", "maxpool2d", "maxpool3d"), _MAXIMUM),
        **dict.fromkeys(("avgpool", "avgpool1d", "avgpool2d", "avgpool3d", "globalaveragepool", "pooling"), _POOLING),
        **dict.fromkeys(("rnn", "lstm", "gru", "mamba", "rwkv"), _RECURRENCE),
        **dict.fromkeys(
            ("dropout", "alphadropout", "droppath", "stochasticdepth"),
            f"leave it out: in evaluation it does nothing; {_without_theory('its random masks')}",
        ),
        **dict.fromkeys(("instancenorm", "instancenorm2d"), _without_theory("normalisation over positions")),
        "groupnorm": "write LayerNorm(u): the theory of groups of many neurons is the same (a layer: pre_ln, ln_act)",
        **dict.fromkeys(
            ("linear", "fc", "fullyconnected", "affine"),
            "layers with weights are called Dense: write Dense(u); the activation that does nothing is linear",
        ),
        "feedforward": "write its equation: Dense(phi(Dense(u))); blocks with a skip are the layer two_layer_block",
        "dense": "it is a part of an equation: gamma*z + Dense(phi(z))",
        "layernorm": "it is a part of an equation: Dense(phi(LayerNorm(z))); the layers with it are pre_ln and ln_act",
        "rmsnorm": "it is a part of an equation: gamma*z + Dense(phi(RMSNorm(z)))",
        **dict.fromkeys(
            ("batchnorm", "batchnorm1d", "batchnorm2d", "bn"), "the layer is batch_norm; in an equation BatchNorm(u)"
        ),
        **dict.fromkeys(("scale", "layerscale"), "write the factor: z + xi*Dense(phi(z)), --set xi=1/10"),
        **dict.fromkeys(("resnet", "skip", "skipconnection"), "the layer is residual: z' = gamma*z + Dense(phi(z))"),
    }
)


def foreign_remedy(name: str) -> str:
    """What to write in the place of a name; empty if it is not in the table.

    Case and underscores do not count: star_relu and StarReLU are one.
    """
    return _REMEDIES.get(name.lower().replace("_", ""), "")
