"""What a reader gets: a page, a LaTeX document, JSON, figures and files of generated code.

A derivation arrives as a ``results.report.Report``, plain data; nothing here derives anything. Sentences and numbers
that page and document share come from the room ``studies``.

Read ``record`` (JSON) first, for it lists all that a report holds; then ``text.page`` and ``latex.document``, which
lay the same report out; then ``figures``, ``views`` and ``export``.
"""
