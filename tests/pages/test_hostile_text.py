import re
from itertools import cycle

import pytest

from pipeline.report.page import render
from tests.pages.made_up_figures import made_up_figures
from tests.pages.made_up_report import made_up_report

pytestmark = pytest.mark.browser

TRICKS = (
    *("<script>alert(1)</script>", "</script><script>alert(2)</script>", "<!--<script>", "-->"),
    *("]]>", '"onmouseover="alert(3)', "'onfocus='alert(4)' autofocus='"),
    *("<img src=x onerror=alert(5)>", "</title></style></textarea></noscript>"),
    *("{{ 7 * 7 }}{% raw %}", "&lt;b&gt;&amp;", "\u202etxet desrever", "\u2067\u2066שלום עולם"),
    *("one\u2028two\u2029three", "nul\0in\x1b[31mside\x7f", "\ud800\uffff", "𝒳\U0001f642"),
    *("$\\frac{1}{2}$", "__proto__", "constructor"),
)
SHOWN = str.maketrans(
    "\0\x1b\x7f\u2028\u2029\ud800\uffff", "\u2400\u241b\u2421\u2424\u2424\ufffd\ufffd"
)
ADDRESSES = (
    *("javascript:alert(6)", "JaVaScRiPt:alert(7)", " javascript:alert(8)"),
    *("java\nscript:alert(9)", "data:text/html,<script>alert(10)</script>", "vbscript:x"),
    *("//evil.example/", "https://", 'https://en.wikipedia.org/?a="onclick="alert(11)', "http://["),
)
TAGS = """() => {
    const count = {};
    for (const each of document.querySelectorAll('*')) {
        count[each.tagName] = (count[each.tagName] ?? 0) + 1;
    }
    return count;
}"""


def as_shown(text):
    return text.translate(SHOWN)


@pytest.fixture(scope="module")
def hostile():
    """Every text has a trick behind it, every address is one that must not be linked to."""
    tricks, addresses = cycle(TRICKS), cycle(ADDRESSES)

    def spoil(text):
        if text.startswith("https://"):
            return next(addresses)
        return f"{text}{next(tricks)}"

    return made_up_report(n_topics=6, n_words=200, n_documents=4, words_a_document=60, spoil=spoil)


@pytest.fixture(scope="module")
def hostile_html(hostile):
    html = render(hostile, made_up_figures(hostile))
    html.encode()  # no half of a surrogate pair is left
    return html


def tags(page):
    return page.evaluate(TAGS)


def use_everything(page):
    for name in ("topic", "document"):
        for i in range(page.locator(f"[data-part={name}] option").count()):
            page.locator(f"[data-part={name}]").select_option(str(i))
    box = page.get_by_role("combobox", name="Word")
    for trick in ("<script>alert(1)</script>", "__proto__", "constructor"):
        box.fill(trick)
        box.press("ArrowDown")
        box.press("Enter")


def test_no_trick_does_anything(open_page, hostile_html):
    opened = open_page(hostile_html)
    use_everything(opened.page)
    opened.assert_calm()
    found = tags(opened.page)
    assert found["SCRIPT"] == 2  # the data, and ours
    assert not {"IMG", "TEXTAREA", "NOSCRIPT", "IFRAME", "OBJECT"} & set(found)
    attributes = opened.page.evaluate(
        "() => [...document.querySelectorAll('*')].flatMap((each) => each.getAttributeNames())"
    )
    assert not [name for name in attributes if name.startswith("on") or name == "autofocus"]


def test_the_page_is_built_as_of_harmless_text(open_page, hostile_html):
    harmless = made_up_report(n_topics=6, n_words=200, n_documents=4, words_a_document=60)
    plain = tags(open_page(render(harmless, made_up_figures(harmless))).page)
    tricked = tags(open_page(hostile_html).page)
    for found in (plain, tricked):
        # A link is a link and its mark; longer words leave room for fewer in a cloud.
        for name in ("A", "SPAN", "text"):
            del found[name]
        # What has no link has no citation either.
        citations = found.pop("CITE")
        for name in ("DETAILS", "SUMMARY", "P"):
            found[name] -= citations
    assert tricked == plain


@pytest.mark.parametrize("is_script_on", [True, False])
def test_no_link_leads_to_anything_but_the_web(open_page, hostile_html, is_script_on):
    page = open_page(hostile_html, java_script_enabled=is_script_on).page
    for address in page.locator("a").evaluate_all(
        "(all) => all.map((a) => a.getAttribute('href'))"
    ):
        assert re.match("#|https?://[^/]", address), address


def test_texts_are_shown_as_they_are(open_page, hostile_html, hostile):
    page, run = open_page(hostile_html).page, hostile.runs[0]
    assert page.locator("h1").text_content() == as_shown(hostile.title)
    for i, topic in enumerate(run.topics.topics):
        page.locator("[data-part=topic]").select_option(str(i))
        assert page.locator("[data-part=name] bdi").text_content() == as_shown(topic.label)
        titles = page.locator("[data-part=typical] bdi").all_text_contents()
        assert titles == [as_shown(each.title) for each in topic.typical]
        words = {as_shown(run.topics.words[w]) for w in topic.words}
        assert set(page.locator("[data-part=words] bdi").all_text_contents()) <= words
        in_cloud = page.locator("[data-part=cloud] text").all_text_contents()
        assert in_cloud == [as_shown(each.word) for each in run.topics.clouds[i]]
    for i, document in enumerate(run.documents.documents):
        page.locator("[data-part=document]").select_option(str(i))
        shown = page.locator("[data-part=document-text]").text_content()
        assert shown == as_shown("".join(document.pieces))


def test_every_hostile_word_is_found(open_page, hostile_html, hostile):
    opened = open_page(hostile_html)
    for word in hostile.runs[0].topics.searched[: 2 * len(TRICKS)]:
        box = opened.page.get_by_role("combobox", name="Word")
        box.fill(as_shown(word))
        box.press("Enter")
        assert opened.page.locator("[data-part=found] p bdi").text_content() == as_shown(word)
        assert "is not among" not in opened.page.locator("[data-part=found]").inner_text()
    opened.assert_calm()


def test_a_title_that_turns_direction_leaves_what_follows_alone(open_page, hostile_html):
    places = (
        open_page(hostile_html)
        .page.locator("[data-part=typical] li")
        .evaluate_all(
            "(all) => all.map((li) => [li.firstChild.getBoundingClientRect().left,"
            " li.children[1].getBoundingClientRect().left, li.children[1].textContent])"
        )
    )
    assert len(places) == 10
    for title, share, text in places:
        assert title < share
        assert re.fullmatch(r"[\d.]+\u00a0%", text)
