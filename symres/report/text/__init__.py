"""Pages for a terminal or a file: formulas as one line of text, in Unicode or ASCII, at most 80 columns wide.

``formula_text`` prints an expression and breaks it at its operators, ``sheet`` lays out titles, words and equations. On
these build ``page`` (with ``criticality_section`` and ``finite_width_section``) and the tables of ``symres list``
(``catalogue_tables``, ``averages_table``, ``criticality_table``).
``console`` knows the streams: their width, encoding and colours.
"""
