"""Gains: the factor in ``std = gain/sqrt(fan_in)``, with the reason for it and an independent check.

Reading order: ``gain`` (the door), ``gain_number`` (the number that is returned, its fields, and tables of gains),
``conventions`` (what each convention asks for, and what ``torch.nn.init.calculate_gain`` returns, and how right it is),
``layer_averages`` (the averages that gains are made of, each against quadrature of the module).
"""
