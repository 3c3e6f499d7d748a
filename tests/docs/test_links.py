from pathlib import Path

import pytest

from docs.reference_pages import page_makers
from tests.docs.markdown_links import DOCS, ROOT, anchors, dead_links, in_toctrees, pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    assert dead_links(path, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        *("[gone](guides/gone.md)", "[no such heading](guides/train.md#hibbs)"),
        *("[not here](#not-here)", "![picture](gone.svg)", '<img src="gone.png">'),
        *("[plain](http://example.org/)", "[relative](//example.org/x)", "[none](https://)"),
        *("[outside](../../../etc/passwd)", "[generated](reference/commands/train.md)"),
        *("[with a space](guides/tra in.md)", "| a |\n|---|\n| [in a table](gone.md) |"),
    ],
)
def test_dead_links_are_found(planted):
    text = f"# Here\n\n{planted}\n\n    [in code](gone.md)\n"
    assert len(dead_links(DOCS / "index.md", text)) == 1


def test_good_links_are_let_through_and_headings_named_as_code_hosts_do():
    text = (
        "# Here & there\n\n[a](#here--there) [b](guides/train.md#gibbs) [c](https://example.org/)\n"
        "`[code](gone.md)`\n\n    [code](gone.md)\n"
    )
    assert dead_links(DOCS / "index.md", text) == []
    text = "# A `code` of *it*\n\n## What it's *for*: K = 2\n\n## Again\n\n## Again\n"
    assert anchors(text) == {"a-code-of-it", "what-its-for-k--2", "again", "again-1"}


def test_every_page_is_reached_from_the_index():
    generated = {DOCS / "reference" / f"{name}.md" for name in page_makers()}
    reached, new = set[Path](), {DOCS / "index.md"}
    while new:
        reached |= new
        written = (path for path in new if path not in generated)
        named = {to for path in written for to in in_toctrees(path, path.read_text("utf-8"))}
        new = named - reached
    assert reached == {path for path in pages() if DOCS in path.parents} | generated
