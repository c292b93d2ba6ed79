"""Sphinx: MyST pages, furo, and the reference from docstrings."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "inweights"
author = "the inweights authors"
copyright = "the inweights authors"
release = version = installed_version("inweights")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"inweights {release}"
html_copy_source = False
html_show_sphinx = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Attributes are described once, in the docstring of their class.
napoleon_use_ivar = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "show-inheritance": True}
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
