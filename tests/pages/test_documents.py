import pytest

pytestmark = pytest.mark.browser
# Contrast of WCAG 2.2 between each word and what is seen behind it, by looking at pixels.
CONTRASTS = """() => {
    const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const pixel = (...colours) => {
        for (const colour of colours) {
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
        }
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((each) => each / 255);
    };
    const light = (colour) => colour
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = getComputedStyle(document.body).backgroundColor;
    return [...document.querySelectorAll('.text-box .marked')].map((word) => {
        const style = getComputedStyle(word);
        const [a, b] = [light(pixel(style.color)), light(pixel(paper, style.backgroundColor))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
}"""


def test_text_is_whole_and_words_have_their_topics(opened, documents):
    page = opened.page
    for i in (0, 3):
        page.locator("[data-part=document]").select_option(str(i))
        shown, box = documents[i], page.locator("[data-part=document-text]")
        assert box.text_content() == "".join(shown.pieces)
        topics = box.locator("[data-topic]").evaluate_all(
            "(all) => all.map((each) => Number(each.dataset.topic))"
        )
        assert tuple(topics) == shown.word_topics
    opened.assert_calm()


def test_six_largest_topics_have_a_colour_and_an_underline_each(page, documents):
    shown, looks = documents[0], {}
    for number, _ in shown.topics:
        word = page.locator(f"[data-part=document-text] [data-topic='{number}']").first
        if word.count():
            looks[number] = word.evaluate(
                "(each) => [each.className.match(/c[0-9]/)[0],"
                " getComputedStyle(each).textDecorationStyle,"
                " getComputedStyle(each).textDecorationThickness].join(' ')"
            )
    largest = [number for number, _ in shown.topics[:6]]
    assert len({looks[number].split()[0] for number in largest}) == 6
    assert len({looks[number].split(maxsplit=1)[1] for number in largest}) == 6
    assert all(look.startswith("c0") for number, look in looks.items() if number not in largest)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_colours(open_page, html, scheme):
    page = open_page(html, color_scheme=scheme).page
    for button in page.locator(".legend button").all():
        button.click()
        contrasts = page.evaluate(CONTRASTS)
        assert min(contrasts) >= 4.5
        assert max(contrasts) > 1.2 * min(contrasts)


def test_a_word_clicked_chooses_its_topic(page):
    word = page.locator("[data-part=document-text] [data-topic]").nth(7)
    number = word.get_attribute("data-topic")
    word.click()
    assert f"topic={number}&" in page.evaluate("location.hash")
    assert page.locator(".legend [aria-pressed=true]").get_attribute("data-topic") == number


def test_documents_are_turned_like_leaves(page, documents):
    name = page.locator("[data-part=document-name]")
    page.get_by_role("button", name="Next document").click()
    assert documents[1].title in name.inner_text()
    assert "The document continues." in page.locator("[data-part=document-end]").inner_text()
    page.get_by_role("button", name="Next document").click()
    assert "not available" in page.locator("[data-part=document-end]").inner_text()
    assert page.evaluate("location.hash").endswith("&document=3")
    page.get_by_role("button", name="Previous document").click()
    assert documents[1].title in name.inner_text()


def test_the_address_keeps_the_document(open_page, html):
    page = open_page(html, "#run=1&topic=0&lambda=0.60&document=4").page
    assert page.locator("[data-part=document]").input_value() == "3"


def test_words_can_be_read_topic_by_topic(page, documents):
    shown = documents[0]
    page.get_by_text("Its words, topic by topic").click()
    rows, topics = page.locator("[data-part=document-words] > div"), set(shown.word_topics)
    assert rows.count() == len(topics)
    counted = {}
    for number in shown.word_topics:
        counted[number] = counted.get(number, 0) + 1
    found = rows.locator("dt").all_inner_texts()
    numbers = [int(text.split()[0]) for text in found]
    assert sorted(numbers) == sorted(topics)
    assert [counted[k] for k in numbers] == sorted(counted.values(), reverse=True)
    rows.nth(1).get_by_role("button").press("Enter")
    chosen = page.get_by_role("combobox", name="Topic").locator("option:checked").inner_text()
    assert int(chosen.split()[0]) == numbers[1]


def test_an_address_without_a_document_is_of_the_first(open_page, html):
    page = open_page(html, "#run=1&topic=3&document=2").page
    assert page.get_by_role("combobox", name="Document").input_value() == "1"
    page.evaluate("location.hash = '#run=1&topic=4'")
    page.wait_for_function("document.querySelector('[data-part=document]').value === '0'")
