"""Pictures of the page, to look at; made where $WIKITOPICS_SCREENSHOTS names a folder."""

import os
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not os.environ.get("WIKITOPICS_SCREENSHOTS"),
        reason="$WIKITOPICS_SCREENSHOTS names no folder",
    ),
]

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
MARGIN = 32
PLACES = {"top": ".masthead", "topics": ".explorer", "documents": ".documents"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pictures(open_page, html, scheme, size):
    """Of $WIKITOPICS_REPORT if that names a report, else of a made-up one."""
    folder = Path(os.environ["WIKITOPICS_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    named = os.environ.get("WIKITOPICS_REPORT")
    page = open_page(
        Path(named).resolve() if named else html,
        color_scheme=scheme,
        viewport=SIZES[size],
        reduced_motion="reduce",
    ).page
    for name, selector in PLACES.items():
        if not page.locator(selector).count():
            continue
        page.locator(selector).first.evaluate("(each) => each.scrollIntoView({block: 'start'})")
        path = folder / f"{name}-{size}-{scheme}.png"
        page.screenshot(path=path)
        assert path.stat().st_size > 10_000
    page.evaluate("window.scrollTo(0, 0)")
    box = page.locator(".explorer").first.bounding_box()
    clip = {"x": 0, "y": box["y"] - MARGIN, "width": SIZES[size]["width"]}
    page.screenshot(
        path=folder / f"explorer-{size}-{scheme}.png",
        full_page=True,
        clip={**clip, "height": box["height"] + 2 * MARGIN},
    )
    page.screenshot(path=folder / f"page-{size}-{scheme}.png", full_page=True)
