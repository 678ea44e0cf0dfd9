"""How to initialise networks of a layer at some depth and width: candidates, trials, a choice.

Reading order: ``advise`` (the choice, from what settings do in networks that are drawn; layers near one that nothing
saves), ``candidates`` with ``free_settings`` (where numbers may come from), ``flow`` (what they
and customary schemes do at infinite width, in double precision).
"""
