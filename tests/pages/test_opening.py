import re

import pytest

from pipeline.report.page import render
from tests.pages.made_up_figures import drawn_figures
from tests.pages.made_up_report import made_up_report

pytestmark = pytest.mark.browser

MAX_BYTES = 3_000_000
MAX_SECONDS = 2.0


def test_opens_from_disk_with_no_word_on_the_console_and_no_request(opened, report):
    opened.assert_calm()
    assert opened.page.title() == report.title
    assert opened.page.locator("h1").inner_text() == report.title


def test_requests_and_complaints_are_noticed(open_page, html):
    asking = re.sub("<meta http-equiv[^>]*>", "", html)
    asking = asking.replace("</main>", '<img src="https://example.org/a.png" alt=""></main>')
    opened = open_page(asking)
    opened.page.wait_for_function("[...document.images].every((each) => each.complete)")
    assert "https://example.org/a.png" in opened.requests
    assert opened.complaints


def test_policy_lets_only_our_script_run(open_page, html):
    opened = open_page(html.replace("</main>", "<script>window.foreign = 1</script></main>"))
    assert opened.page.evaluate("window.foreign") is None
    assert any("Content Security Policy" in each for each in opened.complaints)


def test_a_large_report_is_small_and_quick(open_page, capsys):
    report = made_up_report(n_topics=100, n_words=25_000, n_documents=20, words_a_document=1000)
    html = render(report, drawn_figures(report))
    size, opened = len(html.encode()), open_page(html, timezone_id="UTC")
    # The first page that a browser opens pays for the browser's start.
    again, seconds = opened.page, []
    for _ in range(3):
        again.reload()
        again.wait_for_selector("html[data-ready]")
        # Two frames: laid out and painted.
        milliseconds = again.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() =>"
            " requestAnimationFrame(() => done(performance.now()))))"
        )
        seconds.append(milliseconds / 1000)
    with capsys.disabled():
        print(  # noqa: T201 - what is measured is told
            f"\n{size / 1e6:.2f} MB, interactive after {min(seconds):.2f} s", end=" "
        )
    opened.assert_calm()
    assert size < MAX_BYTES
    assert min(seconds) < MAX_SECONDS


def test_address_keeps_run_topic_and_lambda(open_page, html_of_two, two_runs):
    opened = open_page(html_of_two)
    page = opened.page
    page.get_by_role("tab", name="run 2").click()
    topic = two_runs.runs[1].topics.topics[3]
    page.locator("#run-2 [data-part=topic]").select_option("3")
    page.locator("#run-2 [data-part=lambda]").fill("0.25")
    place = page.evaluate("location.hash")
    assert place == f"#run=2&topic={topic.number}&lambda=0.25"
    opened.assert_calm()
    other = open_page(html_of_two, place).page
    assert not other.locator("#run-1").is_visible()
    assert other.locator("#run-2 [data-part=topic]").input_value() == "3"
    assert other.locator("#run-2 [data-part=lambda]").input_value() == "0.25"
    assert other.locator("#run-2 [data-part=lambda-value]").inner_text() == "0.25"


@pytest.mark.parametrize(
    "place", ["#run=9&topic=1", "#run=1&topic=999", "#run=x&lambda=7", "#%", "#no-such-place"]
)
def test_places_that_do_not_exist_do_no_harm(open_page, html, place):
    opened = open_page(html, place)
    opened.assert_calm()
    assert opened.page.locator("[data-part=words] tr").count() == 30


def test_contents_lead_to_sections(page):
    links = page.locator("nav.contents a")
    assert links.count() >= 6
    for i in range(links.count()):
        target = links.nth(i).get_attribute("href")
        assert page.locator(f"{target}").count() == 1


def test_tells_what_matters_without_script(open_page, html, report):
    page, run = open_page(html, java_script_enabled=False).page, report.runs[0]
    rows = page.locator("table.all-topics tbody tr")
    assert rows.count() == len(run.topics.topics)
    assert run.topics.topics[0].label in rows.first.inner_text()
    assert page.get_by_text("Estimates of the held-out likelihood").is_visible()
    assert page.locator(".map svg").is_visible()
    # Nothing that would need the script is offered.
    assert page.locator("button:visible, select:visible, input:visible").count() == 0


def test_theme_button_changes_and_keeps_the_colours(open_page, html):
    page = open_page(html, color_scheme="light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(ground) == dark
    page.locator("#theme").click()
    assert page.evaluate(ground) == light


def test_on_paper_there_are_tables_and_no_controls(open_page, html_of_two):
    page = open_page(html_of_two, color_scheme="dark").page
    assert not page.locator("#run-1 .document-table table").is_visible()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("select:visible, input:visible").count() == 0
    for run in ("#run-1", "#run-2"):
        assert page.locator(f"{run} table.all-topics").is_visible()
        # What is folded on the screen is open on paper.
        assert page.locator(f"{run} .document-table table").is_visible()
