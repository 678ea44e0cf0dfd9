"""What a module computes, before any language.

Read ``plan`` first: quantities become functions that call components. ``decomposition`` takes their formulas apart
and finds parameters that only set a scale, ``guards`` says what is done where code has no number, ``slope_rules`` which
slopes a closed form has where those that a library finds are not right.
``straight_line`` is the intermediate form: steps that every target prints, and an interpreter in the tests evaluates.
``module_plan`` and ``network_plan`` are what a target is given, ``target`` is what it has to be.
"""
