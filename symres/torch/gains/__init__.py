"""Gains: the factor in ``std = gain/sqrt(fan_in)``, with the reason for it and an independent check.

Reading order: ``gain`` (the door and the number that is returned), ``conventions`` (what each convention asks for),
``torch_table`` (what ``torch.nn.init.calculate_gain`` returns, and why), ``module_averages`` (the quadrature that
every gain meets before it is returned).
"""
