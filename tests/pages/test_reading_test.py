import json
import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from evaluation.topics.reading import ratings, sheets, topic_intrusion, word_intrusion
from pipeline.reading.key_file import ReadingTest, write_key
from pipeline.reading.page import reading_page
from pipeline.reading.score_test import reading_score

pytestmark = pytest.mark.browser

STORAGE_FORBIDDEN = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } })"
)


def made_up_test(n_questions=12, n_repeated=2, title="Title <b>0</b>"):
    rng = np.random.default_rng(0)
    topic_word, words = rng.dirichlet(np.full(60, 0.1), 5), [f"word{w}" for w in range(60)]
    words[int(topic_word[0].argmax())] = "</script><script>window.foreign = 1</script>"
    shares = rng.dirichlet(np.full(5, 2.0), 6)
    items = [
        *word_intrusion(topic_word, words, model="one"),
        *ratings(topic_word[:2], words, model="one"),
        *topic_intrusion(
            shares,
            [f"topic {k}" for k in range(5)],
            [f"text {d} &amp; more" for d in range(6)],
            titles=[title] * 6,
            sources=[f"https://example.org/{d}, CC BY-SA 4.0" for d in range(6)],
            model="one",
        )[:3],
    ]
    return ReadingTest.of(sheets(items, n_questions, n_repeated=n_repeated))


@pytest.fixture
def test():
    return made_up_test()


@pytest.fixture
def opened(open_page, test):
    return open_page(reading_page(test, "Reading test"), accept_downloads=True)


def asked(page, test):
    """Index of the item that is shown: by its words, as a reader sees them."""
    number, total = map(int, re.findall(r"\d+", page.locator("[data-part=count]").inner_text()))
    shown = page.locator("#asking .options .words").all_inner_texts()
    text = page.locator("[data-part=excerpt] p").all_text_contents()
    found = [
        i
        for i, item in enumerate(test.items)
        if list(item.question.options) == shown and text[0] == item.question.text
    ]
    assert len(found) == 1
    return found[0], number, total


def save(page, button):
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return json.loads(download.value.path().read_text()), download.value


def test_answers_go_from_the_keyboard_over_a_reload_to_a_file_and_a_score(opened, test, tmp_path):
    page = opened.page
    page.get_by_role("button", name="Begin").press("Enter")
    chosen, order = {}, []
    for step in range(12):
        i, number, total = asked(page, test)
        assert (number, total) == (step + 1, 12)
        item = test.items[i]
        right = item.intruder if item.intruder is not None else 2
        chosen[i], _ = right, order.append(item)
        page.keyboard.press(str(right + 1))
        assert page.locator("input[name=option]:checked").input_value() == str(right)
        if step == 5:
            part, _ = save(page, "Save the answers so far")
            assert len(part["answers"]) == 6
            page.reload()
            page.wait_for_selector("html[data-ready]")
            assert asked(page, test)[0] == i
            assert page.locator("input[name=option]:checked").input_value() == str(right)
        page.keyboard.press("Enter")
    # Task by task, repeated questions after the others.
    tasks = [(item.question.task, item.repeats is not None) for item in order]
    assert tasks == sorted(
        tasks,
        key=lambda each: (("word-intrusion", "rating", "topic-intrusion").index(each[0]), each[1]),
    )
    assert page.get_by_role("heading", name="Thank you").is_visible()
    page.get_by_text("Sources of the texts").click()
    assert page.locator("#end li").count() == 3
    assert page.locator("#end li").first.inner_text().endswith(", CC BY-SA 4.0")
    answers, download = save(page, "Save the answers")
    assert download.suggested_filename == f"answers-{answers['reader']}.json"
    assert json.loads(page.locator("#as-text").input_value()) == answers
    opened.assert_calm()
    key, file = tmp_path / "key.json", tmp_path / "answers.json"
    write_key(key, test, {})
    download.save_as(file)
    result = reading_score(str(key), [str(file)])
    found = {row["task"]: row.get("precision", row.get("rating")) for row in result["scores"]}
    assert found == {"word-intrusion": 1, "rating": 3, "topic-intrusion": 1}
    assert result["readers"][0]["answers"] == 12
    assert result["readers"][0]["seconds"] > 0
    assert sum(row["repeated"] for row in result["agreement"]) == 2


def test_page_does_not_hold_the_key(opened, test):
    html = opened.page.content()
    assert json.loads(opened.page.locator("#page-data").text_content())["test"] == test.id
    assert not re.search(
        "intruder|log_odds|repeats|one",
        json.dumps(json.loads(opened.page.locator("#page-data").text_content())),
    )
    assert "key.json" not in html


def test_next_waits_for_an_answer_and_back_keeps_it(opened, test):
    page = opened.page
    page.get_by_role("button", name="Begin").click()
    first, *_ = asked(page, test)
    page.keyboard.press("Enter")
    assert asked(page, test)[0] == first
    assert page.get_by_text("Choose an option first.").is_visible()
    page.keyboard.press("9")  # there are not so many
    assert page.locator("input[name=option]:checked").count() == 0
    page.locator(".options label").nth(1).click()
    page.get_by_role("button", name="Next").click()
    assert asked(page, test)[0] != first
    page.get_by_role("button", name="Back").click()
    assert asked(page, test)[0] == first
    assert page.locator("input[name=option]:checked").input_value() == "1"
    page.locator("input[name=option]:checked").press("ArrowDown")
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Back").click()
    assert page.locator("input[name=option]:checked").input_value() == "2"
    opened.assert_calm()


def test_without_storage_a_reload_goes_on_too(browser, test, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(reading_page(test, "Reading test"), "utf-8")
    with browser.new_context(offline=True) as context:
        context.add_init_script(STORAGE_FORBIDDEN)
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        assert page.get_by_text("stores nothing for this page").is_visible()
        page.get_by_role("button", name="Begin").click()
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        second, number, _ = asked(page, test)
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert asked(page, test)[:2] == (second, number)
        page.get_by_role("button", name="Back").click()
        assert page.locator("input[name=option]:checked").input_value() == "1"


@pytest.mark.parametrize("stored", ["{", "[]", '{"sheet": 0, "order": []}', '{"sheet": 7}'])
def test_damaged_storage_begins_anew(opened, test, stored):
    page = opened.page
    page.evaluate(
        "([name, text]) => localStorage.setItem(name, text)",
        [f"wikitopics reading {test.id}", stored],
    )
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.get_by_role("button", name="Begin").is_visible()
    opened.assert_calm()


def test_another_reader_in_the_same_browser_is_another(opened):
    page, readers = opened.page, []
    for _ in range(2):
        page.get_by_role("button", name="Begin").click()
        for _ in range(12):
            page.keyboard.press("1")
            page.keyboard.press("Enter")
        readers.append(save(page, "Save the answers")[0]["reader"])
        page.get_by_text("Let another person answer").click()
        page.get_by_role("button", name="Delete the answers").click()
    assert len(set(readers)) == 2


def test_address_chooses_the_sheet(open_page):
    test = made_up_test(n_questions=6, n_repeated=1)
    assert len(test.sheets) > 1
    last = test.sheets[-1]
    opened = open_page(reading_page(test, "Reading test"), f"#sheet={len(test.sheets)}")
    page = opened.page
    page.get_by_role("button", name="Begin").click()
    seen = set()
    for _ in range(sum(map(len, last))):
        seen.add(asked(page, test)[0])
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    assert seen == {i for group in last for i in group}
    opened.assert_calm()


def test_text_of_others_stays_text(open_page):
    opened = open_page(reading_page(made_up_test(title="<img src=x onerror=alert(1)>"), "R"))
    page = opened.page
    page.get_by_role("button", name="Begin").click()
    for _ in range(12):
        assert page.locator("#asking img, #asking script").count() == 0
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    assert page.evaluate("window.foreign") is None
    opened.assert_calm()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, test, scheme, width):
    page = open_page(
        reading_page(test, "Reading test"),
        color_scheme=scheme,
        viewport={"width": width, "height": 740},
    ).page

    def check():
        found = Axe().run(page).response["violations"]
        assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    check()
    page.get_by_role("button", name="Begin").click()
    for step in range(12):
        page.keyboard.press("1")
        if step in {0, 7, 11}:
            check()
        page.keyboard.press("Enter")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    check()


def test_without_script_the_page_says_what_it_needs(open_page, test):
    page = open_page(reading_page(test, "Reading test"), java_script_enabled=False).page
    assert page.get_by_text("The test needs JavaScript").is_visible()
    assert page.locator("button:visible, input:visible").count() == 0
