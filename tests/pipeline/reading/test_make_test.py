import json
import re
import shutil

import numpy as np
import pytest

from evaluation.topics.reading.question import TASKS
from models import load_model
from pipeline.reading.key_file import read_key
from tests.pipeline.reading.made_up_tests import WORDS, make_runs
from tests.pipeline.report.made_up_runs import made_up_corpus, made_up_run, true_topics
from tests.pipeline.support import call

ALL = ("--tasks", ",".join(TASKS))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reading")
    make_runs(directory, five=5, twelve=12, three=3)
    return directory


def make(runs, *argv):
    return call("reading-test", *argv, "--threads", 1, "--force", cwd=runs)


def shown_in(runs, page="reading-test.html"):
    html = (runs / page).read_text("utf-8")
    data = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', html)
    return html, json.loads(data[1])


def test_page_and_key_of_two_runs_mixed(runs):
    made = make(runs, "five", "twelve", *ALL, "--documents", 8, "--json").succeeded().result
    assert made["tasks"] == {
        "word-intrusion": {"five": 5, "twelve": 12},
        "rating": {"five": 5, "twelve": 12},
        "topic-intrusion": {"five": 8, "twelve": 8},
    }
    test, (html, data) = read_key(runs / made["key"]), shown_in(runs)
    assert test.id == made["test"] == data["test"]
    assert list(data["questions"]) == [f"q{i + 1}" for i in range(len(test.items))]
    assert len(data["sheets"]) == len(made["sheets"])
    assert max(made["sheets"]) <= 40
    # Nothing of the key: neither models nor which question is about which topic.
    assert set(data) == {"format", "version", "test", "tasks", "questions", "sheets"}
    for question in data["questions"].values():
        assert set(question) == {"task", "options", "text", "title", "source"}
    assert not re.search(r"five|twelve|intruder|log_odds|http://", json.dumps(data))
    assert "src=" not in html


def test_documents_are_held_out_first_and_no_reader_has_one_twice(runs):
    make(runs, "five", "twelve", "--tasks", "topic-intrusion", "--documents", 8).succeeded()
    test = read_key(runs / "reading-test.key.json")
    fresh = [item for item in test.items if item.repeats is None]
    assert len({item.unit for item in fresh}) == len(fresh) == 16
    for item in test.items:
        number = item.unit.removeprefix("en:")
        assert item.question.title == f"Title {number}"
        assert item.question.text.startswith(f"Text of {number}. It goes on")
        assert item.question.text.endswith(" …")
        assert len(item.question.text) <= 702
        address = f"https://en.wikipedia.org/wiki/Title_{number}?oldid=7"
        assert item.question.source == f"{address}, CC BY-SA 4.0"
        assert len(item.log_odds) == 4
        assert all(set(each.split(", ")) <= set(WORDS) for each in item.question.options)


def test_same_seed_gives_the_same_bytes(runs):
    files = ("reading-test.html", "reading-test.key.json")
    make(runs, "five", "twelve").succeeded()
    first = [(runs / name).read_bytes() for name in files]
    make(runs, "five", "twelve").succeeded()
    assert [(runs / name).read_bytes() for name in files] == first
    make(runs, "five", "twelve", "--seed", 1).succeeded()
    assert [(runs / name).read_bytes() for name in files] != first


def test_number_of_questions_and_of_topics_is_bounded(runs):
    argv = ("--tasks", "word-intrusion", "--questions", 8, "--repeated", 2, "--topics", 4)
    made = make(runs, "five", "twelve", *argv, "--json").succeeded().result
    assert made["questions"] == 8
    assert all(n <= 8 for n in made["sheets"])
    assert len(made["sheets"]) == 2


def test_run_without_text_or_with_few_topics_has_word_questions_only(runs, tmp_path):
    made_up_run(tmp_path, "gone", true_topics(), made_up_corpus())
    plain = call("reading-test", "gone", cwd=tmp_path).succeeded()
    assert "gone: no topic-intrusion questions: it has fewer than four topics" in plain.err
    assert "word-intrusion: 3 of gone" in plain.out
    assert "key, not for the readers: reading-test.key.json" in plain.out
    make_runs(tmp_path / "more", eight=8)
    shutil.rmtree(tmp_path / "more/articles")
    plain = call("reading-test", "eight", cwd=tmp_path / "more").succeeded()
    assert "eight: 0 topic-intrusion questions, not 20" in plain.err


def test_models_are_files_and_lists_of_words_too(runs, tmp_path):
    lists = tmp_path / "lists.txt"
    lists.write_text(
        "river, lake, sea, pond, brook, spring\n\n"
        "piano, guitar, violin, drum, flute, horn\n"
        "atom, photon, quark, nucleus, electron, laser\n",
        "utf-8",
    )
    model = runs / "runs/five/model.npz"
    made = call("reading-test", model, lists, "--json", cwd=tmp_path).succeeded().result
    assert made["models"] == ["model", "lists"]
    assert made["tasks"]["word-intrusion"] == {"model": 5, "lists": 3}
    assert made["tasks"]["topic-intrusion"] == {"model": 0, "lists": 0}
    items = [i for i in read_key(tmp_path / made["key"]).items if i.model == "lists"]
    assert {"lake", "sea"} <= set(next(i for i in items if i.unit == "0").question.options)


def test_models_of_every_kind_that_evaluate_reads(zoo):
    saved = load_model(zoo / "model.npz")
    weights, words = saved.topics.topic_word, list(saved.vocabulary)
    tops = [[words[w] for w in row] for row in saved.topics.top_words(10).tolist()]
    (zoo / "lists.json").write_text(json.dumps(tops))
    (zoo / "beta.csv").write_text(
        "\n".join([",".join(words), *(",".join(map(str, row)) for row in weights.tolist())])
    )
    np.savez(zoo / "octis.npz", **{"topic-word-matrix": weights, "vocabulary": words})
    (zoo / "bertopic").mkdir()
    of_topics = {str(k): [[word, 0.2] for word in top] for k, top in enumerate(tops)}
    of_topics["-1"] = [["the", 0.1]]
    content = {"topic_representations": of_topics, "topics": []}
    (zoo / "bertopic/topics.json").write_text(json.dumps(content))
    names = ("model.npz", "gensim.model", "lda-c", "weights.txt,keys.txt", "state.gz", "lists.json")
    names += ("beta.csv", "octis.npz", "bertopic")
    argv = (*names, "--vocabulary", "words.txt", "--tasks", "rating", "--repeated", 0)
    made = call("reading-test", *argv, "--json", cwd=zoo).succeeded().result
    assert set(made["tasks"]["rating"].values()) == {3}
    items = read_key(zoo / made["key"]).items
    shown = {(each.model, each.unit): each.question.text for each in items}
    for name in made["models"]:
        for k in range(3):
            assert shown[name, str(k)] == shown["model", str(k)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a b c\nd\n", "lists.txt: topic 1 has fewer than two words"),
        ("a b a\nd e f\n", "topic 0 has a word twice"),
    ],
)
def test_damaged_lists_are_refused_with_their_topic(tmp_path, text, message):
    (tmp_path / "lists.txt").write_text(text, "utf-8")
    assert message in call("reading-test", "lists.txt", cwd=tmp_path).failed(3)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("none",), "none"),
        (("five", "five"), "five is named twice"),
        (("five", "--tasks", "words"), "--tasks must be some of word-intrusion, rating"),
        (("five", "--tasks", ","), "--tasks must be some of"),
        (("five", "--questions", "1"), "--questions must be at least 2"),
        (("five", "--repeated", "11"), "--repeated must be at most a quarter"),
        (("five", "--topics", "0"), "--topics must be at least 1"),
        (("five", "--documents", "0"), "--documents must be at least 1"),
        (("five", "--seed", "-1"), "--seed"),
        (("three", "--tasks", "topic-intrusion"), "there is no question to ask of three"),
        (("five", "--output", "nowhere/page.html"), "nowhere"),
        (("five", "--key", "reading-test.html"), "name two files"),
    ],
)
def test_impossible_wishes_are_refused_in_one_line(runs, argv, message):
    outcome = call("reading-test", *argv, "--force", cwd=runs)
    assert outcome.code in {2, 3}
    assert message in outcome.error


def test_files_are_not_replaced_unless_asked(runs, tmp_path):
    make(runs, "five").succeeded()
    before = (runs / "reading-test.key.json").read_bytes()
    message = call("reading-test", "twelve", cwd=runs).failed()
    assert "reading-test.html exists: choose another name, or --force" in message
    (runs / "reading-test.html").unlink()
    message = call("reading-test", "twelve", cwd=runs).failed()
    assert "reading-test.key.json exists" in message
    assert (runs / "reading-test.key.json").read_bytes() == before


def test_one_topic_has_no_intruder(tmp_path):
    (tmp_path / "lists.txt").write_text("a b c d e f\n")
    message = call("reading-test", "lists.txt", cwd=tmp_path).failed()
    assert "lists has one topic only" in message
