"""Initialisation of PyTorch models by the theory of their layers.

Reading order: ``initialise`` (the door), then inwards

model_run        the parts of the run, what a step of Adam does to it, parameters that are left, weights of norms
model_parts      the run cut into layers, residual branches, read-in and readout
branch_ends      what multiplies a branch behind its last dense layer: what starts small is kept
canonical_forms  equal layers have equal forms: one C_W, one C_b, xi before the branch
advised_kinds    which variances the theory advises for each kind of layer
setting_weights  weights are drawn part after part, each from what the parts before it do
weight_store     the tensors that are filled, each once, and the random numbers for them
depth_check      kernels and gradients after it, against the theory
init_report      what was set, and why
"""
