import math
from dataclasses import replace
from itertools import combinations

import pytest

from pipeline.figures.write import page_svg
from pipeline.report.figures.topic_map import topic_map
from pipeline.report.page import render
from pipeline.report.page_data import DIGITS
from tests.pages.made_up_report import N_WORDS, made_up_report

pytestmark = pytest.mark.browser

# A rounded number of so many digits is off by half a unit of the last at most, that is by this
# share of it; relevance has log p(w|k) once and log p(w) up to once; two of them are compared.
ROUNDING = 2 * 2 * 0.5 * 10 ** (1 - DIGITS)


def relevance(section, topic, weight):
    """Sievert & Shirley's (2014) of every word, from numbers that are not rounded."""
    return {
        section.words[w]: weight * math.log(p) + (1 - weight) * math.log(p / section.word_share[w])
        for w, p in zip(topic.words, topic.probabilities, strict=True)
    }


def shown_words(page):
    return page.locator("[data-part=words] th").all_inner_texts()


def test_slider_sorts_words_as_a_full_sort_would(opened, topics):
    page, section = opened.page, topics
    orders = set()
    for index in (0, 5, 11):
        page.locator("[data-part=topic]").select_option(str(index))
        for step in (0, 1, 25, 60, 99, 100):
            page.locator("[data-part=lambda]").fill(f"{step / 100}")
            expected = relevance(section, section.topics[index], step / 100)
            words = shown_words(page)
            assert len(words) == len(set(words)) == N_WORDS
            shown = [expected[word] for word in words]
            left_out = max(value for word, value in expected.items() if word not in words)
            for earlier, later in zip(shown, [*shown[1:], left_out], strict=True):
                assert earlier >= later - ROUNDING
            orders.add(tuple(words))
    assert len(orders) > 10  # the slider does something
    opened.assert_calm()


def test_slider_is_moved_by_keys(page):
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-part=lambda-value]").inner_text() == "0.61"
    page.keyboard.press("Home")
    assert page.locator("[data-part=lambda-value]").inner_text() == "0.00"


def assert_chosen(page, topic):
    assert topic.label in page.locator("[data-part=name]").inner_text()
    pressed = page.locator(".map [aria-pressed=true]")
    assert pressed.count() == 1
    assert pressed.get_attribute("data-gid") == f"topic-{topic.number}"
    assert page.locator("tr.chosen").get_attribute("data-topic") == str(topic.number)
    assert topic.typical[0].title in page.locator("[data-part=typical]").inner_text()
    assert f"topic={topic.number}&" in page.evaluate("location.hash")


def test_a_circle_clicked_is_chosen_and_coloured(page, topics):
    topic = topics.topics[4]
    circle = page.locator(f".map [data-gid=topic-{topic.number}]")
    colour = "(each) => getComputedStyle(each).fill"
    before = circle.locator("circle").evaluate(colour)
    circle.locator("text").click()
    assert_chosen(page, topic)
    assert circle.locator("circle").evaluate(colour) != before


def test_topics_are_chosen_by_keyboard_on_the_map(page, report):
    topics = report.runs[0].topics.topics
    stops = page.locator(".map [tabindex='0'][data-gid]")
    assert stops.count() == 1  # one stop of the tab key
    stops.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert_chosen(page, topics[2])
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert_chosen(page, topics[-1])


def test_lists_and_buttons_choose(page, report):
    topics = report.runs[0].topics.topics
    page.locator("[data-part=topic]").select_option("7")
    assert_chosen(page, topics[7])
    page.get_by_role("button", name="Next topic").click()
    assert_chosen(page, topics[8])
    page.get_by_role("button", name="Previous topic").focus()
    for _ in range(12):
        page.keyboard.press("Enter")
    assert_chosen(page, topics[0])
    page.locator("table.all-topics").get_by_role("button", name=topics[9].label).click()
    assert_chosen(page, topics[9])
    # Who chose in the table is taken to the topic.
    assert page.evaluate("document.activeElement.dataset.part") == "name"


def test_choice_is_announced(page, topics):
    page.locator("[data-part=topic]").select_option("3")
    label = topics.topics[3].label
    page.wait_for_function(
        "(label) => document.querySelector('[role=status]').textContent.includes(label)", arg=label
    )


def test_links_lead_to_revisions_in_a_safe_way(page, topics):
    link = page.locator("[data-part=typical] a").first
    assert link.get_attribute("href") == topics.topics[0].typical[0].url
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_table_sorts_by_number_and_share(page, topics):
    table = page.locator("table.all-topics")
    rows = "(table) => [...table.tBodies[0].rows].map((row) => Number(row.dataset.topic))"
    by_share = [topic.number for topic in topics.topics]
    assert table.evaluate(rows) == by_share
    table.get_by_role("button", name="Topic", exact=True).click()
    assert table.evaluate(rows) == sorted(by_share)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    table.get_by_role("button", name="Share").click()
    assert table.evaluate(rows) == by_share


def test_revisions_are_cited(page, report):
    typical = report.runs[0].topics.topics[0].typical[0]
    revision = typical.url.split("oldid=")[1]
    citation = page.locator("[data-part=typical] details.cite").first
    assert citation.locator("summary").inner_text() == f"Cite revision {revision}"
    citation.locator("summary").click()
    assert citation.locator("p").inner_text() == (
        f"“{typical.title}”, Wikipedia, revision {revision}, {typical.url}, CC BY-SA 4.0."
    )
    of_document = page.locator("[data-part=document-citation] cite").text_content()
    assert of_document == report.runs[0].documents.documents[0].title


@pytest.mark.parametrize("url", ["https://%/?oldid=1", "", "https://a.example/?oldid=1;drop"])
def test_addresses_that_name_no_revision(open_page, url):
    report = made_up_report(n_topics=2, n_words=60, n_documents=0)
    run = report.runs[0]
    topics = tuple(
        replace(topic, typical=(replace(topic.typical[0], url=url),)) for topic in run.topics.topics
    )
    run = replace(run, topics=replace(run.topics, topics=topics))
    opened = open_page(render(replace(report, runs=(run,)), {}))
    summaries = opened.page.locator("[data-part=typical] summary").all_inner_texts()
    assert summaries == (["Cite"] if "a.example" in url else [])
    opened.assert_calm()


def with_map(shares, places):
    """Return a report of topics with these shares at these places, and the map alone."""
    report = made_up_report(n_topics=len(shares), n_words=300, n_documents=0)
    (run,) = report.runs
    topics = tuple(
        replace(topic, prevalence=share, place=place)
        for topic, share, place in zip(run.topics.topics, shares, places, strict=True)
    )
    run = replace(run, topics=replace(run.topics, topics=topics))
    svg = page_svg(topic_map(run.topics), "run-0-topic-map")
    return render(replace(report, runs=(run,)), {(0, "topic-map"): svg})


MAPS = {
    "one topic": ([1.0], [(0.0, 0.0)]),
    "a large one": ([0.2, *[0.8 / 11] * 11], [(k % 4, k // 4) for k in range(12)]),
    "overlapping": ([1 / 12] * 12, [(0, 0), (9, 5), *((0.6 * k, 0.2 * k) for k in range(10))]),
}


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("name", MAPS)
def test_texts_of_the_map_end_inside_it(open_page, name, width):
    page = open_page(with_map(*MAPS[name]), viewport={"width": width, "height": 844}).page
    edge = page.locator(".map svg").bounding_box()
    boxes = [each.bounding_box() for each in page.locator(".map svg text").all()]
    assert len(boxes) > 3  # those of the legend
    for box in boxes:
        assert edge["x"] - 0.5 <= box["x"]
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] + 0.5


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_numbers_of_overlapping_topics_are_apart(open_page, width):
    shares, places = MAPS["overlapping"]
    page = open_page(with_map(shares, places), viewport={"width": width, "height": 844}).page
    boxes = [each.bounding_box() for each in page.locator(".map svg [data-gid] text").all()]
    assert len(boxes) == len(shares)
    for one, other in combinations(boxes, 2):
        across = abs(one["x"] - other["x"] + (one["width"] - other["width"]) / 2)
        along = abs(one["y"] - other["y"] + (one["height"] - other["height"]) / 2)
        # Digits fill 0.7 of a line.
        is_beside = across > (one["width"] + other["width"]) / 2 - 0.5
        assert is_beside or along > 0.7 * (one["height"] + other["height"]) / 2
