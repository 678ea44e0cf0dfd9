"""How to initialise networks of a layer at some depth and width: candidates, trials, a choice.

Reading order: ``advise`` (the choice), ``candidates`` with ``line_settings`` and ``free_settings`` (where numbers may
come from), ``flow`` (what they and customary schemes do at infinite width, in double precision), ``trials`` (what they
do in networks that are drawn), ``near_layers`` for comparison.
"""
