import json

import pytest

from tests.pages.test_accessibility import findings
from tests.pipeline.conftest import fill_store
from tests.pipeline.reproduce.small_results import STORED
from tests.pipeline.reproduce.test_page import page_of
from tests.pipeline.support import TINY_GIBBS, call

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def commanded(tmp_path_factory):
    directory = tmp_path_factory.mktemp("commanded")
    fill_store(directory / "articles", 60)
    (directory / "table.csv").write_text("row,a,b\nx,6,0\ny,5,1\nz,0,7\n")
    exact = ("--layout", "matrix", "--ranks", "1:2", "--method", "exact", "--threads", 1)
    for argv in (
        ("train", "--run", "one", *TINY_GIBBS, "--test", "0.2"),
        ("train", "--run", "two", *TINY_GIBBS, "--test", "0.2", "--eta", "0.3"),
        ("allocate", "table.csv", *exact),
        ("report", "one", "--threads", 1),
        ("report", "one", "two", "--threads", 1, "--page-only"),
        ("report", "allocate/table"),
    ):
        call(*argv, cwd=directory).succeeded()
    return directory


@pytest.mark.parametrize("path", ["runs/one/report.html", "report.html"])
def test_a_report_is_calm_and_shows_its_run(open_page, commanded, path):
    opened = open_page(commanded / path, color_scheme="dark")
    page = opened.page
    assert findings(page) == []
    topics = json.loads(call("topics", "one", "--json", cwd=commanded).out)["topics"]
    panel = page.locator(".explorer").first
    options = panel.get_by_role("combobox", name="Topic").locator("option").all_inner_texts()
    assert [int(text.split()[0]) for text in options] == [row["topic"] for row in topics]
    assert page.locator(".documents").first.locator("[data-topic]").count() > 0
    opened.assert_calm()


def test_the_page_of_an_allocation(open_page, commanded):
    for width in (1280, 375):
        viewport = {"width": width, "height": 800}
        opened = open_page(commanded / "allocate/table/report.html", viewport=viewport)
        assert findings(opened.page) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.assert_calm()


def test_the_page_of_reproductions(open_page, tmp_path):
    html, _ = page_of(json.loads(STORED.read_text()), tmp_path)
    for width, scheme in ((1280, "dark"), (375, "light")):
        opened = open_page(html, viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert findings(opened.page) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.assert_calm()
