"""Gains: the factor in ``std = gain/sqrt(fan_in)``, with the reason for it and an independent check.

Reading order: ``gain`` (the door; what each convention asks for, what ``torch.nn.init.calculate_gain`` returns, and how
right it is), ``gain_number`` (the number that is returned, its fields, and tables of gains), ``layer_averages`` (the
averages that gains are made of, each against quadrature of the module).
"""
