"""From a PyTorch module or function of one tensor to an activation, verified.

Reading order: ``conversion`` (the door; the formula against the module; its name, where the catalogue has it),
``symbolic_tensor`` (a tensor whose entries are a formula: the module runs on it; the exact numbers in its code),
``operations`` (what each operation of PyTorch does to a formula).
"""
