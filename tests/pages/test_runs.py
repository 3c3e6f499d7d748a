import pytest

pytestmark = pytest.mark.browser


def test_tabs_show_one_run_at_a_time(opened_two):
    page = opened_two.page
    assert page.locator("#run-1").is_visible()
    assert not page.locator("#run-2").is_visible()
    page.get_by_role("tab", name="run 1").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#run-2").is_visible()
    assert not page.locator("#run-1").is_visible()
    assert page.get_by_role("tab", selected=True).inner_text() == "run 2"
    assert page.evaluate("document.activeElement.textContent") == "run 2"
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", selected=True).inner_text() == "run 1"
    opened_two.assert_calm()


def test_without_script_all_runs_are_there(open_page, html_of_two):
    page = open_page(html_of_two, java_script_enabled=False).page
    assert page.locator("#run-1").is_visible()
    assert page.locator("#run-2").is_visible()


def test_matched_topics_are_chosen_in_both_runs(opened_two, two_runs):
    page, pair = opened_two.page, two_runs.comparison.alignments[0].pairs[2]
    page.locator("table.alignment tbody tr").nth(2).get_by_role("button").nth(1).click()
    assert page.get_by_role("tab", selected=True).inner_text() == "run 2"
    for run, number in (("#run-1", pair.first), ("#run-2", pair.second)):
        pressed = page.locator(f"{run} .map [aria-pressed=true]")
        assert pressed.get_attribute("data-gid") == f"topic-{number}"
    opened_two.assert_calm()


def test_a_topic_without_a_partner_is_chosen_alone(opened_two, two_runs):
    pair = two_runs.comparison.alignments[0].pairs[-1]
    row = opened_two.page.locator("table.alignment tbody tr").last
    assert row.get_by_role("button").count() == 1
    row.get_by_role("button").click()
    pressed = opened_two.page.locator("#run-1 .map [aria-pressed=true]")
    assert pressed.get_attribute("data-gid") == f"topic-{pair.first}"
    opened_two.assert_calm()


def test_a_link_into_a_run_that_is_not_shown_shows_it(open_page, html_of_two):
    page = open_page(html_of_two, "#run-2-likelihood").page
    assert page.locator("#run-2-likelihood").is_visible()
