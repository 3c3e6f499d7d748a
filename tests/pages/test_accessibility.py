import itertools

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 740}


def findings(page):
    response = Axe().run(page).response
    return [
        f"{each['impact']}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in response["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(open_page, html, scheme, size):
    page = open_page(html, color_scheme=scheme, viewport=size).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    box = page.get_by_role("combobox", name="Word")
    box.fill(page.locator("[data-part=words] bdi").first.inner_text())
    box.press("Enter")
    box.press("ArrowDown")
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_where_there_are_tabs(open_page, html_of_two, scheme):
    page = open_page(html_of_two, color_scheme=scheme).page
    page.get_by_role("tab", name="run 2").click()
    assert findings(page) == []


def test_axe_finds_what_is_wrong(open_page, html):
    wrong = html.replace("</main>", '<p style="color: #ccc">pale</p><input></main>')
    found = " ".join(findings(open_page(wrong, color_scheme="light").page))
    assert "color-contrast" in found
    assert "label" in found


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_sticks_out_sideways(open_page, html_of_two, width):
    page = open_page(html_of_two, viewport={"width": width, "height": 740}).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    for name in ("run 1", "run 2"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_headings_are_in_order_and_landmarks_there(open_page, html, html_of_two):
    for each in (html, html_of_two):
        page = open_page(each).page
        levels = page.locator("h1, h2, h3, h4, h5").evaluate_all(
            "(all) => all.map((each) => Number(each.tagName[1]))"
        )
        assert (levels[0], levels.count(1)) == (1, 1)
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        for landmark in ("main", "header.masthead", "footer", "nav"):
            assert page.locator(landmark).count() >= 1
        assert page.locator("html").get_attribute("lang") == "en"


def test_first_stop_of_the_tab_key_skips_to_the_content(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_focus_is_seen(page):
    for _ in range(20):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const style = getComputedStyle(document.activeElement);"
            " return [style.outlineStyle, style.outlineWidth]; })()"
        )
        assert style[0] != "none", page.evaluate("document.activeElement.outerHTML")
        assert style[1] != "0px"


def test_nothing_moves_for_those_who_want_no_motion(open_page, html):
    moving = (
        "[...document.querySelectorAll('*')].filter((each) =>"
        " parseFloat(getComputedStyle(each).transitionDuration) > 0).length"
    )
    assert open_page(html, reduced_motion="reduce").page.evaluate(moving) == 0


@pytest.mark.parametrize("kind", ["all-topics", "likelihoods"])
def test_stacked_tables_need_no_scrolling_and_stay_tables(open_page, html, kind):
    page = open_page(html, viewport=PHONE).page
    table = page.locator(f"table.{kind}").first
    assert table.evaluate("(t) => t.parentElement.scrollWidth <= t.parentElement.clientWidth")
    rows = table.locator("tbody tr").count()
    # Blocks keep what they are to those who do not see them.
    assert page.get_by_role("table").and_(table).get_by_role("row").count() == rows + 1
    assert table.get_by_role("rowheader").count() == rows


def test_what_scrolls_has_shadows_at_its_edges(open_page, html_of_two):
    page = open_page(html_of_two, viewport=PHONE).page
    wide = page.locator(".scroll").filter(has=page.locator("table.alignment")).first
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    attached = wide.evaluate("(box) => getComputedStyle(box).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"
