"""A run of a model, recorded call by call, and cut where all of its stream goes through one tensor.

run_record     the record: stream values, calls, modules
recording      one run, watched
mean_dropout   dropout of train mode by what it does to mean squares
prepared_runs  a run of anybody's model, on the inputs of a user or on guessed ones
narrow_places  the steps between places where the stream is one tensor
"""
