import json
from pathlib import Path

import pytest

from evaluation.topics.reading import ask
from pipeline.reading.answers_file import read_answers, write_answers
from pipeline.reading.key_file import read_key
from tests.pipeline.reading.made_up_tests import answer_all, changed, make_runs
from tests.pipeline.support import call

ARGV = ("--tasks", "word-intrusion,rating,topic-intrusion", "--threads", 1)
KEY = "reading-test.key.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("scores")
    make_runs(directory, ten=10, twelve=12)
    call("reading-test", "ten", "twelve", *ARGV, "--questions", 100, cwd=directory).succeeded()
    for n in range(6):
        answer_all(directory / KEY, directory / f"{n}.json", f"reader {n}", right=n < 5)
    call(
        *("reading-test", "ten", "-o", "other.html", "--seed", 3, "--tasks", "word-intrusion"),
        cwd=directory,
    ).succeeded()
    answer_all(directory / "other.key.json", directory / "other.json", "reader 9")
    return directory


@pytest.fixture
def files(made, tmp_path):
    for path in made.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def names(n):
    return [f"{i}.json" for i in range(n)]


def test_scores_of_readers_who_find_all_but_one_who_finds_none(made):
    result = call("reading-score", KEY, *names(6), "--json", cwd=made).succeeded().result
    assert [(row["task"], row["model"]) for row in result["scores"]] == [
        (task, model)
        for task in ("word-intrusion", "rating", "topic-intrusion")
        for model in ("ten", "twelve")
    ]
    for row in result["scores"]:
        if row["task"] == "rating":
            assert row["rating"] == pytest.approx((5 * 1 + 2) / 6)
            continue
        assert row["precision"] == pytest.approx(5 / 6)
        assert row["low"] < 5 / 6 < row["high"]
        assert row["readers"] == 6
        if row["task"] == "topic-intrusion":
            assert row["log_odds"]["value"] < 0
            assert row["log_odds_of_chance"] < row["log_odds"]["value"]
    assert len(result["differences"]) == 3
    for row in result["differences"]:
        assert row["difference"] == pytest.approx(0, abs=1e-12)
        assert row["low"] < 0 < row["high"]
    assert all(row["repeated"] == row["repeated_same"] for row in result["agreement"][1:2])
    assert [row["share_right"] for row in result["readers"]] == [1] * 5 + [0]


def test_scores_are_printed_with_intervals_and_the_worst_topics_first(made):
    out = call("reading-score", KEY, *names(6), cwd=made).succeeded().out
    assert "6 readers, " in out
    assert "word-intrusion: precision, 17% by guessing; interval of 95 %" in out
    assert "  ten     0.83 (" in out
    assert "ten - twelve: 0.00 (" in out
    assert "agreement of readers: alpha " in out
    assert "topic log odds -" in out
    assert "ten, word-intrusion, each topic, the worst first" in out
    assert "reader 5: " in out
    assert " | word" in out  # a topic's words and the intruder


def test_one_reader_has_no_interval_and_says_so(made):
    result = call("reading-score", KEY, "0.json", "--json", cwd=made).succeeded().result
    for row in result["scores"]:
        assert row["low"] is None
        assert row["no_interval"] == "one reader, needs 5"
    assert all(row["alpha"] is None for row in result["agreement"])
    out = call("reading-score", KEY, "0.json", cwd=made).succeeded().out
    assert "(no interval: one reader, needs 5)" in out
    assert "nan" not in out.lower()


def test_part_of_the_answers_can_be_scored(files):
    content = json.loads((files / "0.json").read_text())
    changed(files / "0.json", answers=content["answers"][:1])
    result = call("reading-score", KEY, *names(6), "--json", cwd=files).succeeded().result
    assert result["readers"][0]["answers"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.write_text("{"), "0.json: not JSON, or damaged"),
        (lambda p: p.write_bytes(b"\xff\xfe"), "0.json: not JSON, or damaged"),
        (lambda p: p.write_text("[" * 100_000), "0.json: not JSON, or damaged"),
        (lambda p: p.write_text("[]"), "0.json: expected a wikitopics reading test answers"),
        (
            lambda p: p.write_text((p.parent / KEY).read_text()),
            "found a wikitopics reading test key",
        ),
        (lambda p: changed(p, version=2), "was written by a newer wikitopics"),
        (lambda p: changed(p, version=True), "its version is True"),
        (lambda p: changed(p, test="0" * 16), "0.json: answers to test 0000000000000000, not to"),
        (lambda p: changed(p, reader=""), "reader is ''"),
        (lambda p: changed(p, reader=[1]), "reader is [1]"),
        (lambda p: changed(p, answers=[]), "0.json: there are no answers in it"),
        (lambda p: changed(p, answers={"q1": 1}), "0.json: there are no answers in it"),
        (lambda p: changed(p, answers=[1]), "expected answers with question and option, found 1"),
        (
            lambda p: changed(p, answers=[{"question": "q9999", "option": 0}]),
            "0.json: there is no question 'q9999' in this test",
        ),
        (
            lambda p: changed(p, answers=[{"question": "q1", "option": 6}]),
            "0.json: question q1 has options 0 to ",
        ),
        (lambda p: changed(p, answers=[{"question": "q1", "option": True}]), "found True"),
        (lambda p: changed(p, answers=[{"question": "q1"}]), "found None"),
        (
            lambda p: changed(p, answers=[{"question": "q1", "option": 0}] * 2),
            "0.json: question q1 is answered twice",
        ),
        (
            lambda p: p.write_text((p.parent / "1.json").read_text()),
            "1.json and 0.json are of the same reader, reader 1",
        ),
        (lambda p: p.write_text((p.parent / "other.json").read_text()), "0.json: answers to test"),
        (lambda p: p.unlink(), "0.json"),
    ],
)
def test_wrong_answers_are_refused_with_the_name_of_their_file(files, change, message):
    change(files / "0.json")
    assert message in call("reading-score", KEY, *names(3), cwd=files).failed(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.write_text("{"), f"{KEY}: not JSON, or damaged"),
        (
            lambda p: p.write_text((p.parent / "0.json").read_text()),
            "expected a wikitopics reading",
        ),
        (lambda p: changed(p, items=[]), f"{KEY} was changed"),
        (lambda p: changed(p, items=[{}]), f"{KEY}: a damaged key"),
        (lambda p: changed(p, sheets=[[[0]]]), f"{KEY} was changed"),
        (lambda p: changed(p, sheets=3), f"{KEY}: a damaged key"),
        (lambda p: p.unlink(), KEY),
    ],
)
def test_wrong_key_is_refused(files, change, message):
    change(files / KEY)
    assert message in call("reading-score", KEY, "0.json", cwd=files).failed(3)


@pytest.mark.parametrize(
    "entry", [{"intruder": 6}, {"intruder": "1"}, {"repeats": -1}, {"log_odds": [1.0]}]
)
def test_key_with_an_impossible_entry_is_refused(files, entry):
    content = json.loads((files / KEY).read_text())
    content["items"][0] |= entry
    (files / KEY).write_text(json.dumps(content))
    assert f"{KEY}: a damaged key" in call("reading-score", KEY, "0.json", cwd=files).failed(3)


def test_answers_of_a_function_are_a_file_as_well(made, tmp_path):
    test = read_key(made / KEY)
    answers = ask(test.questions, lambda question: len(question.options) - 1)
    path = tmp_path / "function.json"
    write_answers(path, test, "function", dict(enumerate(answers)))
    (found,) = read_answers([Path(path)], test)
    assert found.options == dict(enumerate(answers))
    result = call("reading-score", KEY, path, "--json", cwd=made).succeeded().result
    assert result["readers"] == [
        {
            "reader": "function",
            "answers": len(test.items),
            "share_right": pytest.approx(0.2, abs=0.2),
            "seconds": None,
        }
    ]
