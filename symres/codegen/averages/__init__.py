"""The code of averages without a closed form, integrated when a generated function is called.

Read ``integrands`` first, then ``average_code``, which writes the code of a sum of averages and of its slopes.
``rules`` chooses the rule of quadrature; ``features`` and ``tail_growth`` read off where an integrand changes and how
it grows; ``singular_slopes`` gives derivatives where activations jump.
"""
