"""How `make docs` builds the site: nothing is fetched, and a link to nowhere is an error."""

from __future__ import annotations

import importlib
import inspect
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole

ROOT = Path(__file__).resolve().parent.parent

project = "maxmargin"
author = "maxmargin contributors"
release = metadata.version(project)
REPOSITORY = "https://github.com/maxmargin/maxmargin"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
suppress_warnings = ["config.cache"]  # functions for the templates cannot be cached

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False  # the template lists the methods that are ours
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("gallery", "from-*")}  # they have no pages below them
html_theme_options = {
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
project_copyright = author
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def own_members(name: str) -> list[tuple[str, str]]:
    """Return the public methods and properties that a class has from this package.

    What scikit-learn's base classes add is documented there; fields are in the class's docstring.
    """
    module, _, last = name.rpartition(".")
    documented = getattr(importlib.import_module(module), last)
    told = inspect.getdoc(documented) or ""
    found = []
    for member in dir(documented):
        value = inspect.getattr_static(documented, member)
        kind = "property" if isinstance(value, property) else "method"
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        ours = str(getattr(function, "__module__", "")).startswith("maxmargin")
        if member.startswith("_") or not ours or not callable(function) or not function.__doc__:
            continue
        if kind == "method" or not re.search(rf"^(.*, )?{member}\b.* : ", told, re.MULTILINE):
            found.append((kind, member))
    return found


autosummary_context = {"own_members": own_members}


class Name(PyXRefRole):
    """`Name` in a docstring: a link where it is documented, and code where it is not."""

    def process_link(self, env: Any, refnode: Any, *rest: Any) -> tuple[str, str]:
        refnode["may_be_code"] = True
        return super().process_link(env, refnode, *rest)


default_role = "py:name"


def leave_as_code(app: Sphinx, env: Any, node: Any, contnode: nodes.Element) -> Any:
    return contnode if node.get("may_be_code") else None


def adapt_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Show the README first; let links that leave docs/ lead to the repository."""
    text = source[0]
    if docname == "index":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        outside = re.sub(r"\]\((?!docs/|https?:|#)", "](../", readme)
        inside = outside.replace("](docs/decisions)", "](project.md)").replace("](docs/", "](")
        text = inside + text
    if docname == "gallery":
        script = r"^\[(examples/\S+)\]\(\.\./\1\)$"
        shown = r":::{dropdown} \1\n```{literalinclude} ../\1\n```\n:::"
        text = re.sub(script, shown, text, flags=re.MULTILINE)
    outside = r"\]\(" + r"\.\./" * (1 + docname.count("/")) + r"(?=\w)"
    source[0] = re.sub(outside, f"]({REPOSITORY}/blob/main/", text)


def adapt_docstring(
    app: Sphinx, what: str, name: str, obj: Any, opts: Any, lines: list[str]
) -> None:
    """Keep |x| an absolute value, and an attribute a name: both mean something else to Sphinx."""
    for place, line in enumerate(lines):
        absolute = re.sub(r"\|(?=\S)([^|`]+)(?<=\S)\|", "\N{DIVIDES}\\1\N{DIVIDES}", line)
        lines[place] = re.sub(r":obj:`(\w+) <[^>]+>`", r"**\1**", absolute)


def setup(app: Sphinx) -> None:
    app.add_role_to_domain("py", "name", Name())
    app.connect("missing-reference", leave_as_code)
    app.connect("source-read", adapt_links)
    app.connect("autodoc-process-docstring", adapt_docstring, priority=900)  # after numpydoc
