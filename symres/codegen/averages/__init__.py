"""The code of averages without a closed form, integrated when a generated function is called.

Read ``integrands`` first, then ``average_code``, which writes the code of a sum of averages and of its slopes;
``places_of_change`` says where nodes crowd, ``singular_slopes`` gives derivatives where activations jump.
"""
