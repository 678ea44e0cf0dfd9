"""Printed results of the literature as data, each derived again and judged when it is asked for.

Read ``printed_claims`` first (what a claim is, and the files of ``documents``, one for each version of a document),
then ``formulas`` (printed formulas as trees), ``numbers`` (their values, which share nothing with what is derived),
``paths`` (derivations as paths into the public API), ``judging`` (verdicts) and ``verdict_tables`` (what people read).
"""
