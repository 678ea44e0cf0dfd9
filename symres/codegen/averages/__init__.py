"""The code of averages without a closed form, integrated when a generated function is called.

Read ``integrands`` first, which also says where nodes crowd, then ``average_code``, which writes the code of a sum of
averages and of its slopes; ``singular_slopes`` gives derivatives where activations jump.
"""
