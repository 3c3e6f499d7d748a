"""Settings of the documentation: `make docs` builds the site in docs/_build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.house_map import write_drawing  # noqa: E402 - found by the line above
from docs.plain_docstrings import plain_docstring  # noqa: E402
from docs.reference_pages import write_pages  # noqa: E402
from pipeline.version import software_version  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "wikitopics"
author = "The wikitopics developers"
version = release = software_version()
copyright = author  # noqa: A001 - the name that Sphinx asks for

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
root_doc = "index"
language = "en"
highlight_language = "none"  # indented code is of a shell, of Python, and of what they print
smartquotes_action = "D"  # dashes only, which napoleon writes as two hyphens

myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_param = False  # types are prose: "array of shape (n_topics, n_words)"
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = "wikitopics"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Write the pages that are made from the code before Sphinx looks for pages."""
    app.connect("builder-inited", lambda _: write_pages(HERE / "reference"))
    app.connect("builder-inited", lambda _: write_drawing(HERE / "reference" / "house"))
    app.connect("autodoc-process-docstring", plain_docstring, priority=400)
