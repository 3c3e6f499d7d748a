"""On a narrow screen: rows become blocks, and what still is too wide says that it scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pages.conftest import Opened

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("kind", ["all-topics", "likelihoods"])
def test_stacked_tables_need_no_scrolling_and_stay_tables(
    open_page: Callable[..., Opened], html: str, kind: str
) -> None:
    page = open_page(html, viewport=PHONE).page
    table = page.locator(f"table.{kind}").first
    assert table.evaluate("(t) => t.parentElement.scrollWidth <= t.parentElement.clientWidth")
    rows = table.locator("tbody tr").count()
    # Blocks keep what they are to those who do not see them.
    assert page.get_by_role("table").and_(table).get_by_role("row").count() == rows + 1
    assert table.get_by_role("rowheader").count() == rows


def test_what_scrolls_has_shadows_at_its_edges(
    open_page: Callable[..., Opened], html_of_two: str
) -> None:
    page = open_page(html_of_two, viewport=PHONE).page
    wide = page.locator(".scroll").filter(has=page.locator("table.alignment")).first
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    attached = wide.evaluate("(box) => getComputedStyle(box).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"
