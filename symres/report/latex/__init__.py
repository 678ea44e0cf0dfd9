"""LaTeX documents whose formulas stay between the margins.

``displays`` breaks a formula into lines by an estimate of its printed width, ``prose`` sets the sentences of the
program, ``proof_appendix`` the proofs. ``advice_section`` is the part about initialisation.
``document`` fills the template of a whole report with these, and ``depth_documents`` those of
networks and of procedures.
"""
