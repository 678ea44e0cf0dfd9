"""Recorded calls as forward equations of the theory. Reading order from outside inwards

layering        steps put together to layers, with what cannot be read set apart
interpreting    call by call, what each value is
call_rules      what single calls do: axes moved about, operations entry by entry, normalisation
formula_values  a value: a formula of the neurons of one base; dense layers and convolutions with their variances; the
                result: the equation, and what was not read
"""
