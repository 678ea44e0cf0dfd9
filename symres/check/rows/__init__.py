"""Rows of a report: which claims are compared with an oracle, where, and by which verdict.

Reading order: ``claims`` (a theory's numbers), ``quadrature_rows``, ``simulation_case`` (one layer and its simulation),
``simulation_rows``, and the rows of deep networks in ``depth_rows`` and ``jacobian_rows``.
"""
