"""The networks of Doshi, He and Gromov, written in PyTorch as a user would: they know nothing of symres.

All of them are drawn with weights of variance sigma_w^2/fan_in and biases of variance sigma_b^2, have skip connections
of weight mu, and keep their blocks in ``blocks``.

drawing           initial weights
stream_network    a read-in and blocks, which all but the Mixer are
deep_mlp          perceptrons, with and without skip connections and LayerNorm (section 2 to 5)
batch_norm_mlp    fully connected residual blocks with BatchNorm (appendix B)
resnet            ResNet110 with LayerNorm or BatchNorm (section 6, appendix B)
mixer             MLP-Mixer (section 6, appendix H)
"""
