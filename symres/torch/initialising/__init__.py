"""Initialisation of PyTorch models by the theory of their layers.

Reading order: ``initialise`` (the door), then inwards

setting_weights  weights are drawn part after part, each from what the parts before it do
model_parts      the run cut into layers, residual branches, read-in and readout; equal layers have equal forms
branch_ends      what multiplies a branch behind its last dense layer: what starts small is kept; weights of norms
advised_kinds    which variances the theory advises for each kind of layer
weight_store     the tensors that are filled, each once, and the random numbers for them
depth_check      kernels and gradients after it, against the theory
init_report      what was set, and why
"""
