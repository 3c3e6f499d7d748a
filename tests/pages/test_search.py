import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_word_has_its_topics_and_marks_them_on_the_map(opened, topics):
    page, section = opened.page, topics
    index = next(i for i, found in enumerate(section.topics_of_word) if len(found) > 1)
    page.get_by_role("combobox", name="Word").fill(topics.searched[index])
    page.get_by_role("button", name="Find").click()
    buttons = page.locator("[data-part=found] button")
    expected = section.topics_of_word[index]
    assert buttons.count() == len(expected)
    for i, (number, _) in enumerate(expected):
        assert buttons.nth(i).inner_text().startswith(f"{number} ")
    marked = page.locator(".map .found").evaluate_all("(all) => all.map((g) => g.dataset.gid)")
    assert sorted(marked) == sorted(f"topic-{number}" for number, _ in expected)
    assert f"topic={expected[0][0]}&" in page.evaluate("location.hash")
    assert buttons.first.get_attribute("aria-current") == "true"
    expect(page.locator("#announcer")).to_contain_text("the first is chosen")
    buttons.last.click()
    assert buttons.last.get_attribute("aria-current") == "true"
    assert page.locator("[data-part=found] .tag").count() == 1
    assert f"topic={expected[-1][0]}&" in page.evaluate("location.hash")
    opened.assert_calm()


def test_every_word_is_found(page, topics):
    box = page.get_by_role("combobox", name="Word")
    for word in topics.searched[:: len(topics.searched) // 25]:
        box.fill(word)
        box.press("Enter")
        assert f"‘{word}’" in page.locator("[data-part=found] p").inner_text()
        assert "is not among" not in page.locator("[data-part=found]").inner_text()


def test_suggestions_are_walked_with_arrows(page, topics):
    words, box = topics.searched, page.get_by_role("combobox", name="Word")
    box.press_sequentially(words[0][:3].upper())
    options = page.get_by_role("option").filter(visible=True)
    expected = [word for word in words if word.startswith(words[0][:3])][:10]
    assert page.locator("[role=listbox] bdi").all_inner_texts()[: len(expected)] == expected
    assert box.get_attribute("aria-expanded") == "true"
    box.press("ArrowDown")
    box.press("ArrowDown")
    active = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
    assert active.inner_text() == options.nth(1).inner_text() == expected[1]
    box.press("Enter")
    assert box.input_value() == expected[1]
    assert box.get_attribute("aria-expanded") == "false"
    box.fill("zz")
    box.press("Escape")
    assert options.count() == 0


def test_an_unknown_word_is_called_unknown(page):
    box = page.get_by_role("combobox", name="Word")
    box.fill("xyzzy")
    box.press("Enter")
    said = page.locator("[data-part=found]").inner_text()
    assert "‘xyzzy’ is not among the words of the model: pruned, or spelled differently" in said
    assert "one of the 1,234 rarest words" in said
    assert "Perhaps" not in said
    assert page.locator(".map .found").count() == 0


def test_words_near_an_unknown_one_are_offered(page, topics):
    word, box = max(topics.searched, key=len), page.get_by_role("combobox", name="Word")
    box.fill(f"{word}qqq")
    box.press("Enter")
    offered = page.locator("[data-part=found] .near button")
    assert offered.first.inner_text() == word
    assert offered.count() <= 5
    offered.first.click()
    assert f"Each occurrence of ‘{word}’ is from:" in page.locator("[data-part=found]").inner_text()


def test_words_of_list_and_cloud_are_looked_for(page, topics):
    word = page.locator("[data-part=words] button").nth(2)
    before = page.evaluate("location.hash")
    word.click()
    assert page.evaluate("location.hash") == before  # the topic that is looked at stays
    assert f"‘{word.inner_text()}’" in page.locator("[data-part=found] p").inner_text()
    in_cloud = page.locator("[data-part=cloud] text").nth(1)
    in_cloud.click()
    text = in_cloud.text_content()
    assert f"‘{text}’" in page.locator("[data-part=found] p").inner_text()
    assert text == topics.clouds[0][1].word
