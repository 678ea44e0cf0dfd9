"""From unevaluated averages to verified quantities.

Read ``closed_forms`` first (averages replaced by closed forms, with proof), then ``build`` (the quantity, compared with
numbers). ``expansion`` has series in the kernel; ``expectations`` the averages that users ask for directly.
"""
