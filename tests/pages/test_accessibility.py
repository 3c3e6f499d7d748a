"""The page is usable by all: axe finds nothing, nothing sticks out, the focus is seen."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.pages.conftest import OpenPage

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 740}


def findings(page: Page) -> list[str]:
    """Rules that are broken, with the first element that breaks each."""
    response: dict[str, Any] = Axe().run(page).response
    return [
        f"{each['impact']}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in response["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(
    open_page: OpenPage, html: str, scheme: str, size: dict[str, int]
) -> None:
    page = open_page(html, color_scheme=scheme, viewport=size).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    box = page.get_by_role("combobox", name="Word")
    box.fill(page.locator("[data-part=words] bdi").first.inner_text())
    box.press("Enter")
    box.press("ArrowDown")
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_where_there_are_tabs(
    open_page: OpenPage, html_of_two: str, scheme: str
) -> None:
    page = open_page(html_of_two, color_scheme=scheme).page
    page.get_by_role("tab", name="run 2").click()
    assert findings(page) == []


def test_axe_finds_what_is_wrong(open_page: OpenPage, html: str) -> None:
    """The negative control."""
    wrong = html.replace("</main>", '<p style="color: #ccc">pale</p><input></main>')
    found = " ".join(findings(open_page(wrong, color_scheme="light").page))
    assert "color-contrast" in found
    assert "label" in found


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_sticks_out_sideways(open_page: OpenPage, html_of_two: str, width: int) -> None:
    page = open_page(html_of_two, viewport={"width": width, "height": 740}).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for name in ("run 1", "run 2"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_headings_are_in_order_and_landmarks_there(
    open_page: OpenPage, html: str, html_of_two: str
) -> None:
    for each in (html, html_of_two):
        page = open_page(each).page
        levels = page.locator("h1, h2, h3, h4, h5").evaluate_all(
            "(all) => all.map((each) => Number(each.tagName[1]))"
        )
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        for landmark in ("main", "header.masthead", "footer", "nav"):
            assert page.locator(landmark).count() >= 1
        assert page.locator("html").get_attribute("lang") == "en"


def test_first_stop_of_the_tab_key_skips_to_the_content(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_focus_is_seen(page: Page) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const style = getComputedStyle(document.activeElement);"
            " return [style.outlineStyle, style.outlineWidth]; })()"
        )
        assert style[0] != "none", page.evaluate("document.activeElement.outerHTML")
        assert style[1] != "0px"


def test_nothing_moves_for_those_who_want_no_motion(open_page: OpenPage, html: str) -> None:
    moving = (
        "[...document.querySelectorAll('*')].filter((each) =>"
        " parseFloat(getComputedStyle(each).transitionDuration) > 0).length"
    )
    assert open_page(html, reduced_motion="reduce").page.evaluate(moving) == 0


@pytest.mark.parametrize("kind", ["all-topics", "likelihoods"])
def test_stacked_tables_need_no_scrolling_and_stay_tables(
    open_page: OpenPage, html: str, kind: str
) -> None:
    page = open_page(html, viewport=PHONE).page
    table = page.locator(f"table.{kind}").first
    assert table.evaluate("(t) => t.parentElement.scrollWidth <= t.parentElement.clientWidth")
    rows = table.locator("tbody tr").count()
    # Blocks keep what they are to those who do not see them.
    assert page.get_by_role("table").and_(table).get_by_role("row").count() == rows + 1
    assert table.get_by_role("rowheader").count() == rows


def test_what_scrolls_has_shadows_at_its_edges(open_page: OpenPage, html_of_two: str) -> None:
    page = open_page(html_of_two, viewport=PHONE).page
    wide = page.locator(".scroll").filter(has=page.locator("table.alignment")).first
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    attached = wide.evaluate("(box) => getComputedStyle(box).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"
