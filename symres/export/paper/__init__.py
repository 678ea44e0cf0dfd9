"""Documents: LaTeX, figures, records."""
