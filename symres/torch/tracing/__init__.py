"""A run of a model, recorded call by call, and cut where all of its stream goes through one tensor.

run_record  the record: stream values, calls, modules; the steps where the stream is one tensor; the run once more
recording   one run, watched, on the inputs of a user or on guessed ones; the mean effect of dropout
"""
