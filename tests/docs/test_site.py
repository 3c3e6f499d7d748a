import re
import shutil
import subprocess
import sys
from html import unescape

import pytest

from docs.reference_pages import commands, settings_of
from tests.docs.markdown_links import DOCS

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|srcset|data)\s*=\s*"""
    r"""["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*?href\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""",
    re.IGNORECASE,
)
FETCHED_BY_STYLE = re.compile(r"""(?:@import\s*["']?|url\(\s*["']?)((?:https?:)?//[^"')\s]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "__pycache__"))
    made = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-b", "html", "docs", "built"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder / "built"


@pytest.mark.slow
def test_the_site_asks_for_nothing_outside(site):
    found = [
        (path.name, *match)
        for path in site.rglob("*.html")
        for match in FETCHED.findall(path.read_text("utf-8"))
    ]
    found += [
        (path.name, match)
        for path in site.rglob("*.css")
        for match in FETCHED_BY_STYLE.findall(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.slow
def test_every_setting_can_be_linked_to(site):
    for command in commands():
        page = unescape((site / "reference" / "commands" / f"{command}.html").read_text("utf-8"))
        for each in settings_of(command):
            option = each.option
            name = option.removeprefix("--") if option.startswith("--") else f"arg-{option}"
            assert f'id="cmdoption-{command}-{name}"' in page.replace(
                f"cmdoption-{command}-o-", f"cmdoption-{command}-"
            )
            assert each.variable in page


def test_what_would_be_fetched_is_found():
    for planted in (
        '<script defer src="https://cdn.example/x.js"></script>',
        "<img alt='' src='//cdn.example/x.png'>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
    ):
        assert FETCHED.search(planted)
    assert FETCHED_BY_STYLE.search("@import url(https://fonts.example/css)")
    assert not FETCHED.search('<a href="https://example.org">x</a><script src="_static/x.js">')
