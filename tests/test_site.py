"""The documentation: links lead somewhere, names are in the reference, the site builds."""

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(page):
    """The lines of a page outside of fences."""
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def anchors(page):
    """Those that GitHub and MyST make of the headings."""
    headings = (line.lstrip("# ") for line in prose(page) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    for link in LINK.findall("\n".join(prose(page))):
        target, _, anchor = link.partition("#")
        if ":" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(path), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_are_fenced(page):
    assert not any(line.startswith(">>>") for line in prose(page))


def test_the_readme_is_short_and_links_every_page():
    assert len(README.splitlines()) <= 90
    linked = set(LINK.findall(README))
    pages = {f"docs/{page.name}" for page in DOCS.glob("*.md")} - {"docs/index.md"}
    assert len(pages) > 15
    assert pages <= linked


def public_objects():
    """Everything in an __all__, by all its names; constants are told in words."""
    packages = [
        name for _, name, is_package in pkgutil.iter_modules(maxmargin.__path__) if is_package
    ]
    for package in ["", *packages]:
        module = importlib.import_module(f"maxmargin.{package}".rstrip("."))
        for name in getattr(module, "__all__", ()):
            yield f"{package}.{name}".lstrip("."), getattr(module, name)


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w[\w.]*)$", page, re.MULTILINE))
    told = {id(value) for name, value in public_objects() if name in listed or f"`{name}`" in page}
    missing = {name for name, value in public_objects() if id(value) not in told}
    assert len(listed) > 80
    assert not missing


class Links(HTMLParser):
    """What a built page refers to, what it loads, and where it can be entered."""

    def __init__(self, page):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag in ("script", "img", "link"):
            self.loads += [attributes[name] for name in ("src", "href") if name in attributes]


def built_site(where):
    """The site, made of a copy: whatever Sphinx finds fault with ends it."""
    for part in ("docs", "examples"):
        shutil.copytree(ROOT / part, where / part, ignore=shutil.ignore_patterns("generated"))
    shutil.copy(ROOT / "README.md", where)
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "-q", where / "docs", where / "html"]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1000)
    assert built.returncode == 0, built.stderr
    return where / "html"


def check_links(path, page, pages):
    """Links and files of the site are there; nothing is loaded from elsewhere."""
    assert not [load for load in page.loads if urlsplit(load).netloc], path.name
    for link in [*page.links, *page.loads]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        assert target.is_file(), f"{path.name} links to {link}"
        if parts.fragment and target in pages:
            assert unquote(parts.fragment) in pages[target].ids, f"{path.name} links to {link}"


@pytest.mark.slow
def test_the_site_builds_with_a_page_for_each_estimator(tmp_path):
    pytest.importorskip("sphinx")
    site = built_site(tmp_path)
    found = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Links(path) for path in found}
    assert len(pages) > 100
    for path, page in pages.items():
        check_links(path, page, pages)
    for name in maxmargin.__all__:
        if hasattr(getattr(maxmargin, name), "fit"):
            page = (site / "generated" / f"maxmargin.{name}.html").read_text(encoding="utf-8")
            for part in ("Parameters", "Attributes", "Examples", f"maxmargin.{name}.fit"):
                assert part in page, f"{name} has no {part}"
