"""The documentation: ``make docs`` builds it into docs/_build/html."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import symres

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project, author, copyright = "symres", "the symres developers", "the symres developers"
version = release = symres.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# the index that sphinx-gallery makes knows no topics: gallery.rst is the page of all examples
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/index.rst", "extensions"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_rtype = False
napoleon_custom_sections = [("Valid when", "returns_style"), ("Source", "returns_style")]
autodoc_typehints = "none"  # shapes and units stand in the docstrings
autodoc_member_order = "bysource"
autosummary_generate = True
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"  # names fit the list beside a page

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# a folder with MathJax 3 for pages that are read without a network
if local := os.environ.get("SYMRES_DOCS_MATHJAX"):
    mathjax_path = local

sphinx_gallery_conf = {
    "examples_dirs": ["../derivations/gallery"],
    "gallery_dirs": ["gallery"],
    "backreferences_dir": "gallery/backreferences",  # minigalleries ask for it
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__\.py|readme_picture|first_screen|thumbnails|pictures",
    "image_scrapers": ("matplotlib", "extensions.figures.scraper"),
    "reset_modules": ("matplotlib", "extensions.figures.reset"),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\.",  # what axes.legend(...) and its kin return
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": os.environ.get("SYMRES_DOCS_GALLERY", "True"),
    "min_reported_time": 1,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "symres"
html_static_path = ["_static"]
html_css_files = ["symres.css"]
html_show_sourcelink = False
# pages without pages below them have no list of these
html_sidebars: dict[str, list[str]] = {
    page: [] for page in ("index", "architecture", "benchmarks", "glossary", "literature")
}
html_theme_options = {
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
