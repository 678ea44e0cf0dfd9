"""What is done with anybody's PyTorch model, whatever is measured or changed afterwards.

structures   tensors inside of the tuples and mappings that go into modules and come out of them
arguments_of_models   what a user passes as inputs, and parts of it
choosing     the modules that a user means: by type, pattern or function; or else the residual blocks
observing    hooks at modules, and at places: what enters or leaves a module, each time that it is called
model_state  what a model does besides computing: dropout, batch normalisation, random numbers, changes in place
wording      what is said of modules and of errors; a pass of a model whose own mistakes are one clear error
keeping      a model, and the random numbers of the process, as they were before
"""
