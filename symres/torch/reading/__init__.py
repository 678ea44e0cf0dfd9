"""Which layers of the theory a model is made of, and what they predict. Reading order from outside inwards

predict_model      theory and measurement of a model side by side
read_model         the reading of a model: equal stretches together, each kind compared with random networks
weight_checks      a stretch on Gaussian streams with random weights; weights that fit to their stream
weight_sharing     weights that several layers have, as one tensor or as copies
model_reading      the result for a model
read_block         the result for a block of it; its kernel map and chi_perp as floats
"""
