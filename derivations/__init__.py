"""The literature, derived again: one module per source document, each printed result a claim that is judged.

A module uses symres through its public names only and offers ``claims() -> tuple[Claim, ...]``. What is typed in
from a document stands in the claim's ``printed``; what symres derives stands in ``derived``; they never share a
line.
"""
