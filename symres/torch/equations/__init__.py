"""Recorded calls as forward equations of the theory. Reading order from outside inwards

layering          steps put together to layers, with what cannot be read set apart
interpreting      call by call, what each value is
attention_groups  from a softmax outwards: which calls are one attention layer, and how it makes scores
head_maps         what lies between a dense layer and the heads, as a linear map that is found by its numbers
call_rules        what single calls do: axes moved about, operations entry by entry, normalisation, pools
draw_names        symbols for variances, and names of activations
formula_values    a value: a formula of the neurons of one base; dense layers and convolutions with their variances; the
                  result: the equation, and what was not read
position_uses     heads and masks of attention, windows of convolutions
"""
