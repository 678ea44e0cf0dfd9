"""What is done with anybody's PyTorch model, whatever is measured or changed afterwards.

call_arguments  what a user passes as inputs, and parts of it; tensors inside of tuples, mappings and dataclasses
choosing        the modules that a user means: by type, pattern or function; or else the residual blocks; their names
observing       hooks at modules, and at places: what enters or leaves a module, each time that it is called
model_state     what a model does besides computing: dropout, batch normalisation, random numbers, changes in place
keeping         a model, and the random numbers of the process, as they were before; mistakes in a pass as one error
"""
