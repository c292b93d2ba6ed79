"""Sphinx: MyST pages, notebooks, furo, the reference from docstrings, a gallery of the recipes."""

from __future__ import annotations

import gc
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# Notebooks keep what they run below the build, and train with one thread each.
os.environ.setdefault("INWEIGHTS_RUNS", str(HERE / "_build" / "runs"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Documents are trees whose nodes refer to each other, and all are kept to the end: a fifth
# of the time of a build went into looking for garbage among them.
gc.disable()

project = "inweights"
author = "the inweights authors"
copyright = "the inweights authors"
release = version = installed_version("inweights")

extensions = [
    "inweights_site",
    "inweights_report.site",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build", "_ext", "_static"]

html_theme = "furo"
html_title = f"inweights {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}

myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
]
myst_heading_anchors = 3

# A page whose code did not change is not run again; a cell that fails ends the build.
html_use_index = False  # one page of all names; the search finds them
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_raise_on_error = True
if tags.has("one-notebook"):  # noqa: F821 (Sphinx puts it there)
    pages = [*HERE.glob("notebooks/*.md"), *HERE.glob("course/*.md")]
    nb_execution_excludepatterns = [page.name for page in pages if page.stem != "facts"]
    # A quarter of the time, for pages that are all alike.
    extensions.remove("sphinx.ext.viewcode")
nb_execution_timeout = 900  # seconds a cell: for one that hangs, also on a busy machine
nb_output_stderr = "remove"  # how far a training has come

# Types and functions of other libraries link to their own pages, where this is asked
# for: a build makes no request by itself. ``-t online`` fetches the inventories.
intersphinx_mapping = {
    name: (f"https://{place}", None)
    for name, place in {
        "python": "docs.python.org/3/",
        "numpy": "numpy.org/doc/stable/",
        "scipy": "docs.scipy.org/doc/scipy/",
        "torch": "docs.pytorch.org/docs/stable/",
        "polars": "docs.pola.rs/api/python/stable/",
        "networkx": "networkx.org/documentation/stable/",
        "matplotlib": "matplotlib.org/stable/",
    }.items()
    if tags.has("online")  # noqa: F821 (Sphinx puts it there)
}

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
toc_object_entries_show_parents = "hide"
