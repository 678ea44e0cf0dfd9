"""Residual blocks, and layers, of a model are rescaled until measured kernels and gradients keep their size.

What is tuned gives ``gamma z + xi R``: of a residual block z is the stream and R its branch, of a layer z is what its
biases give and R what its weights give. One after the other they are measured, their weights are solved for and set,
and the model goes on with what the new weights give.

tuned_places      where residual blocks and branches stand; a pass of a model in which every tensor has its graph
tuning_passes     a pass in which something is done at every place, and another stream goes on
weight_forms      quadratic forms in gamma and xi, measured at a place; the weights that keep kernel, gradient or APJN
scalable_weights  what scales a branch, or a skip connection, exactly: verified by runs; a module around a block
tuning_loop       all places: measured, solved, set and measured again
tuning_report     what was found and set
tune              the call
"""
