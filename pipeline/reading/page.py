"""Page of a reading test: one HTML file that readers answer offline."""

from typing import Any, Final

from evaluation.topics.reading.question import RATING, TOPIC_INTRUSION, WORD_INTRUSION
from pipeline.reading.answers_file import ANSWERS
from pipeline.reading.key_file import VERSION, ReadingTest
from pipeline.report.page import render_template
from pipeline.report.page_data import clean

SCRIPTS: Final = ("page_base.js", "reading_test.js")
TASKS: Final = {
    WORD_INTRUSION: "Which word does not belong with the others?",
    RATING: "How well do these words belong together?",
    TOPIC_INTRUSION: "Which list of words does not fit the text?",
}


def reading_page(test: ReadingTest, title: str) -> str:
    """Return the page. It shows the questions; of the key it has nothing."""
    shown = test.shown
    data = {
        "format": ANSWERS,
        "version": VERSION,
        "test": test.id,
        "tasks": TASKS,
        "questions": {name: _visible(each) for name, each in shown["questions"].items()},
        "sheets": shown["sheets"],
    }
    most = max(sum(map(len, sheet)) for sheet in test.sheets)
    return render_template("reading_test.html.j2", data, SCRIPTS, title=title, n_questions=most)


def _visible(question: dict[str, Any]) -> dict[str, Any]:
    texts = {name: clean(question[name]) for name in ("task", "text", "title", "source")}
    return texts | {"options": [clean(each) for each in question["options"]]}
