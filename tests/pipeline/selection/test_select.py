import json
import math
import os
import shlex
import shutil
import signal
from dataclasses import fields
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline.selection.select as command
from corpora import Corpus, split, writer_lock
from evaluation import LikelihoodEstimate, coherence, log_likelihood, paired_difference
from models import OnlineLDA, load_model
from pipeline.errors import UsageError
from pipeline.selection.directory import open_selection
from pipeline.selection.scores import RunScore, recommend, rows_of
from pipeline.selection.select import topic_numbers
from pipeline.setting_sources import resolve, value_type
from pipeline.settings import SelectSettings, TrainSettings
from tests.pipeline.support import TINY, arrays_of, call, files_of, finish, spawn, wait_until

pytestmark = pytest.mark.slow

SETTINGS = tuple(
    TINY[i + j] for i in range(0, len(TINY), 2) if TINY[i] != "--topics" for j in (0, 1)
)


def select(*argv, cwd, **environment):
    return call("select", *SETTINGS, *argv, cwd=cwd, **environment)


@pytest.fixture(scope="module")
def selected_once(tiny_finished, tmp_path_factory):
    directory = tmp_path_factory.mktemp("selected")
    shutil.copytree(tiny_finished, directory, dirs_exist_ok=True)
    return directory, select("--topics", "4,2", "--test", 0.2, "--json", cwd=directory).succeeded()


@pytest.fixture
def selected(selected_once, tmp_path):
    return shutil.copytree(selected_once[0], tmp_path / "selected")


def parts_of(run):
    return split(Corpus.load(run / "corpus"), 0.1, 0.2)


def test_the_table_is_what_the_runs_come_to(selected_once):
    directory, outcome = selected_once
    result = outcome.result
    assert [row["topics"] for row in result["rows"]] == [2, 4]
    estimates = {}
    for row in result["rows"]:
        run = directory / row["runs"][0]
        topics, parts = load_model(run / "model.npz").topics, parts_of(run)
        assert topics.n_topics == row["topics"]
        found = log_likelihood(topics, parts.test.counts, "completion", random_state=0)
        estimates[row["topics"]] = found
        assert row["perplexity"] == pytest.approx(found.perplexity)
        assert row["perplexity_standard_error"] == pytest.approx(found.perplexity_standard_error)
        assert row["nats_per_word"] == pytest.approx(found.nats_per_word)
        by_counts = coherence(topics, parts.train, "u_mass")  # documents, either way
        assert row["u_mass"]["mean"] == pytest.approx(by_counts.mean)
        assert row["u_mass"]["window"] == "document"
        assert (row["c_v"]["window"], row["c_v"]["window_size"]) == ("sliding", 110)
        assert (row["c_npmi"]["window"], row["c_npmi"]["window_size"]) == ("sliding", 10)
        assert row["seeds"] == [5]
        assert row["seed_standard_error"] is None
        assert row["seconds"] > 0
    best, other = sorted(result["rows"], key=lambda row: row["nats_per_word"])
    assert (best["difference_to_best"], best["difference_standard_error"]) == (0, 0)
    difference = paired_difference(estimates[other["topics"]], estimates[best["topics"]])
    assert other["difference_to_best"] == pytest.approx(difference.nats_per_word)
    assert other["difference_standard_error"] == pytest.approx(difference.standard_error)
    assert (result["scored"], result["articles"]) == ("test", estimates[2].n_documents)
    assert result["tokens_scored"] == estimates[2].total_tokens


def test_what_is_written(selected_once):
    directory, outcome = selected_once
    selection = directory / "runs/select-online"
    assert json.loads((selection / "select.json").read_text()) == outcome.result
    assert (selection / "select.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (selection / "select.svg").read_text()
    assert outcome.result["path"] == "runs/select-online"


def test_a_run_is_the_same_as_one_that_train_makes(selected):
    argv = [each if each != "3" else "4" for each in TINY]
    assert call("train", "--run", "four", *argv, "--test", 0.2, cwd=selected).code == 0
    runs = selected / "runs"
    one, other = (runs / name / "model.npz" for name in ("four", "select-online/topics-4"))
    assert arrays_of(one) == arrays_of(other)
    assert len({Corpus.load(model.parent / "corpus").content_hash for model in (one, other)}) == 1


def test_the_text_is_counted_once(selected):
    corpora = [
        {file.stat().st_ino for file in run.glob("corpus/*")}
        for run in sorted((selected / "runs/select-online").glob("topics-*"))
    ]
    assert len(corpora) == 2
    assert corpora[0]
    # The copy of the fixture is no link any more: what counts is that a third run makes no corpus.
    with mock.patch("pipeline.training.train.make_corpus", side_effect=AssertionError):
        select("--topics", "2,3,4", "--test", 0.2, "--json", cwd=selected).succeeded()
    third = {file.stat().st_ino for file in selected.glob("runs/select-online/topics-3/corpus/*")}
    assert third in corpora


def test_the_same_command_again_trains_nothing(selected):
    before = files_of(selected / "runs")
    with mock.patch.object(command, "train", side_effect=AssertionError):
        outcome = select("--topics", "2,4", "--test", 0.2, "--json", cwd=selected).succeeded()
    assert "2 of 2 runs are done" in outcome.err
    assert files_of(selected / "runs") == before


def test_without_a_seed_the_one_that_was_drawn_is_taken_again(selected):
    argv, seeds = [each for each in SETTINGS if each not in ("--seed", "5")], []
    for topics in ("2", "2,3"):
        outcome = call(
            "select", *argv, "--topics", topics, "--name", "x", "--json", cwd=selected
        ).succeeded()
        seeds += [row["seeds"] for row in outcome.result["rows"]]
    assert seeds[0] == seeds[1] == seeds[2]


def test_more_seeds(selected):
    argv = ("--topics", "2,4", "--test", 0.2, "--seeds", 2, "--json")
    outcome = select(*argv, cwd=selected).succeeded()
    for row in outcome.result["rows"]:
        assert row["seeds"] == [5, 6]
        assert [run.rpartition("/")[2] for run in row["runs"]] == [
            *(f"topics-{row['topics']}", f"topics-{row['topics']}-2")
        ]
        parts = parts_of(selected / row["runs"][0])
        nats = [
            log_likelihood(
                *(load_model(selected / run / "model.npz").topics, parts.test.counts, "completion"),
                random_state=0,
            ).nats_per_word
            for run in row["runs"]
        ]
        assert row["nats_per_word"] == pytest.approx(np.mean(nats))
        assert row["seed_standard_error"] == pytest.approx(abs(nats[0] - nats[1]) / 2)


def assert_runs_as_before(selected, name):
    """The runs of 2 and 4 topics are those of `select-online`, which nothing disturbed."""
    for k in (2, 4):
        one, other = (
            selected / f"runs/select-{each}/topics-{k}/model.npz" for each in ("online", name)
        )
        assert arrays_of(one) == arrays_of(other)


@pytest.mark.slow
def test_processes_change_no_bit(selected):
    argv = ("--topics", "2,3,4", "--test", 0.2, "--name", "several", "--threads", 2)
    with mock.patch.object(command, "TOKENS_WORTH_A_PROCESS", 0):
        select(*argv, cwd=selected).succeeded()
    assert_runs_as_before(selected, "several")


def test_gibbs_sampling_too(selected):
    argv = [each for each in SETTINGS if each not in ("--batch-size", "10")]
    argv += ["--model", "gibbs", "--topics", "2,3", "--max-passes", "8"]
    outcome = call("select", *argv, "--json", cwd=selected).succeeded()
    assert outcome.result["path"] == "runs/select-gibbs"
    assert [row["topics"] for row in outcome.result["rows"]] == [2, 3]


def signalled_in_run(number):
    """`OnlineLDA.iterate` in the course of whose call number so many, from 1, SIGINT arrives."""
    iterate, calls = OnlineLDA.iterate, []

    def iterate_with_signal(*args, **kwargs):
        calls.append(1)
        for step, each in enumerate(iterate(*args, **kwargs)):
            if len(calls) == number and step == 3:
                os.kill(os.getpid(), signal.SIGINT)
            yield each

    return iterate_with_signal


@pytest.mark.parametrize("number", [1, 2])
def test_interrupted_and_gone_on(selected, number):
    argv = ("--topics", "2,4", "--test", 0.2, "--name", "again")
    with mock.patch.object(OnlineLDA, "iterate", signalled_in_run(number)):
        error = select(*argv, cwd=selected).failed(130)
    assert error.endswith("give the same command again to go on")
    runs = selected / "runs/select-again"
    assert len(list(runs.glob("*/model.npz"))) == number - 1
    assert len(list(runs.glob("*/checkpoints/latest.npz"))) == number
    assert "going on after" in select(*argv, cwd=selected).succeeded().err
    assert_runs_as_before(selected, "again")


@pytest.mark.slow
def test_killed_and_gone_on(selected):
    argv = ("--topics", "2,4", "--test", 0.2, "--name", "killed")
    process = spawn("select", *SETTINGS, *argv, cwd=selected)
    runs = selected / "runs/select-killed"
    wait_until(lambda: list(runs.glob("*/model.npz")), 120, "no run was finished")
    process.kill()
    finish(process)
    select(*argv, cwd=selected).succeeded()
    assert_runs_as_before(selected, "killed")


def test_other_settings_are_another_choice(selected):
    outcome = select("--topics", "2", "--test", 0.3, "--json", cwd=selected)
    assert outcome.result["path"] == "runs/select-online-2"
    outcome = select("--topics", "3", "--test", 0.2, "--json", cwd=selected)
    assert outcome.result["path"] == "runs/select-online"
    before = files_of(selected / "runs")
    error = select("--topics", "2", "--test", 0.3, "--name", "online", cwd=selected).failed()
    assert "runs/select-online was begun with test = 0.2, not 0.3" in error
    assert files_of(selected / "runs") == before


@pytest.mark.parametrize("name", [(), ("--name", "mended")])
def test_settings_that_leave_no_word_can_be_mended(selected, name):
    argv = ("--topics", "2,3", "--test", 0.25, *name)
    assert select(*argv, "--no-below", 1000, cwd=selected).code == 3
    outcome = select(*argv, "--json", cwd=selected).succeeded()
    assert outcome.result["path"] == f"runs/select-{'mended' if name else 'online-2'}"


def test_one_at_a_time(selected):
    with writer_lock(selected / "runs/select-online"):
        error = select("--topics", "2,4", "--test", 0.2, cwd=selected).failed(75)
        assert "is being written to by process" in error


def test_without_early_stopping_the_validation_part_decides(selected):
    argv = ("--topics", "2", "--early-stopping", "none", "--max-passes", 2, "--validation", 0.2)
    outcome = select(*argv, "--test", 0, "--json", cwd=selected).succeeded()
    assert outcome.result["scored"] == "validation"


def test_articles_that_are_gone(selected):
    shutil.rmtree(selected / "articles")
    outcome = select("--topics", "2,4", "--test", 0.2, cwd=selected).succeeded()
    assert "articles no longer holds the articles of the runs" in outcome.err
    assert "whole documents as windows" in outcome.out
    result = json.loads((selected / "runs/select-online/select.json").read_text())
    assert all(row["c_v"]["window"] == "document" for row in result["rows"])


def test_the_table_for_people(selected):
    outcome = select("--topics", "2,4", "--test", 0.2, cwd=selected)
    head, first, second, empty, about, recommendation, where = outcome.out.splitlines()
    assert (head.split()[:2], first.split()[0]) == (["topics", "perplexity"], "2")
    assert second.split()[0] == "4"
    assert len(first) == len(second) == len(head)
    assert empty == ""
    assert about.startswith("completion on the test part, ")
    assert about.endswith("coherence of 10 words on the training part, sliding windows")
    assert " topics: " in recommendation
    assert where.startswith("runs/select-online: ")
    assert call(*shlex.split(where.split("`")[1])[3:], cwd=selected).code == 0


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ("--topics ''", "--topics needs numbers of topics, such as 5,10,20"),
        ("--topics ,", "--topics needs numbers of topics"),
        ("--topics 5,,6", "whole numbers and commas, such as 5,10,20; found ''"),
        ("--topics 5,ten", "found 'ten'"),
        ("--topics 5,1.5", "found '1.5'"),
        ("--topics 5,0", "--topics must be at least 1 each, found 0"),
        ("--topics=-3", "--topics must be at least 1 each, found -3"),
        ("--topics 5,10,5", "--topics names 5 twice"),
        ("--topics 5,+5", "--topics names 5 twice"),
        ("--topics 5 --seeds 0", "--seeds must be at least 1, found 0"),
        ("--topics 5 --seeds two", "--seeds must be a whole number, found 'two'"),
        ("--topics 5 --words 1", "--words must be at least 2"),
        ("--topics 5 --name a/b", "--name must be a name, not a path, found 'a/b'"),
        ("--topics 5 --test 0", "--test leaves nothing to choose by"),
        ("--topics 5 --test 0.9 --validation 0.2", "leave nothing to train on"),
        ("--topics 5 --alpha minus", "alpha"),
        ("--topics 5 --seed -1", "the seed must be from 0 to 2**63 - 1, found -1"),
        (f"--topics 5 --seeds 2 --seed {2**63 - 1}", "the seed must be from 0 to 2**63 - 1"),
    ],
)
def test_bad_input(tiny, argv, complaint):
    before = files_of(tiny)
    assert complaint in select(*shlex.split(argv), cwd=tiny).failed()
    assert {n: c for n, c in files_of(tiny).items() if "select-" not in n} == before


def test_options_of_train_that_make_no_sense_here_are_unknown(tiny):
    for option in ("--run", "--follow", "--follow-after"):
        assert call("select", option, "1", cwd=tiny).code == 2


def test_settings_of_file_and_environment(selected):
    (selected / "pipeline.toml").write_text(
        "[train]\ntopics = 9\nrun = 'x'\ntest = 0.2\n[select]\ntopics = '2,4'\n"
    )
    outcome = select("--json", cwd=selected).succeeded()
    assert outcome.result["path"] == "runs/select-online"
    assert [row["topics"] for row in outcome.result["rows"]] == [2, 4]
    outcome = select("--json", cwd=selected, WIKITOPICS_TOPICS="4,2")
    assert [row["topics"] for row in outcome.result["rows"]] == [2, 4]


def test_the_url_of_a_store_stays_as_it_is(tmp_path):
    for given_as, kept in (("https://a.org/store", "https://a.org/store"), ("a//b/", "a/b")):
        training = TrainSettings(
            articles=given_as, model="online", runs=str(tmp_path), seed=1, cluster="local:2"
        )
        settings = open_selection(training, "", 1).settings_of(5, 0)
        assert (settings.articles, settings.cluster) == (kept, "")


def test_defaults_are_of_their_own_type():
    for each in fields(SelectSettings):
        assert type(each.default) is value_type(each)
    assert topic_numbers(resolve(SelectSettings, "select", {}, {}).topics)


@given(st.lists(st.integers(1, 10**6), min_size=1, unique=True))
def test_any_list_of_numbers(numbers):
    assert topic_numbers(" , ".join(map(str, numbers))) == sorted(numbers)
    with pytest.raises(UsageError, match="twice"):
        topic_numbers(",".join(map(str, [*numbers, numbers[0]])))


def score(n_topics, values, seed=0):
    estimate = LikelihoodEstimate(
        np.array(values),
        np.zeros(len(values)),
        np.full(len(values), 10),
        *("made up", "sequence", "exact"),
    )
    found = coherence([["a", "b"]], Corpus(np.eye(2), ("a", "b"), ("0", "1")), "c_v")
    measures = dict.fromkeys(("c_v", "c_npmi", "u_mass"), found)
    return RunScore(f"run-{n_topics}", n_topics, seed, estimate, measures, 0.5, 0.5, 1.0, None)


def test_the_smallest_within_a_standard_error_is_recommended():
    # 10 topics are 1 nat worse on each document, for sure; 20 as good as 40, give or take.
    rows = rows_of(
        [
            *(score(10, [-71.0, -81.0, -61.0]), score(40, [-70.0, -80.0, -60.0])),
            *(score(20, [-71.0, -79.0, -60.1]), score(80, [-75.0, -85.0, -65.0])),
        ]
    )
    k, sentence = recommend(rows)
    assert k == 20
    assert sentence.startswith("20 topics: the smallest number within a standard error of the best")
    assert "40 (0.0033 ± " in sentence
    assert rows[0]["difference_to_best"] == pytest.approx(0.1)
    assert rows[0]["difference_standard_error"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("values", "expected", "hint"),
    [
        ({5: -10.0}, 5, "the only number tried"),
        ({5: -10.0, 10: -9.0}, 10, "try larger"),
        ({5: -9.0, 10: -10.0}, 5, "try smaller"),
        ({5: -11.0, 10: -9.0, 20: -10.0}, 10, "no smaller number is within"),
        ({5: -math.inf, 10: -9.0, 20: -10.0}, 10, "no smaller number is within"),
    ],
)
def test_recommendations_of_one_document(values, expected, hint):
    rows = rows_of([score(k, [value]) for k, value in values.items()])
    json.dumps(rows[1:], allow_nan=False)
    k, sentence = recommend(rows)
    assert k == expected
    assert hint in sentence
    assert rows[0]["perplexity_standard_error"] is None


def test_seeds_widen_the_standard_error():
    sure = rows_of([score(5, [-10.0, -12.0]), score(9, [-9.0, -11.0])])
    of_5 = [score(5, [-14.0, -16.0], 0), score(5, [-6.0, -8.0], 1)]
    of_9 = [score(9, [-9.0, -11.0], seed) for seed in (0, 1)]
    seeds = rows_of([*of_5, *of_9])
    assert sure[0]["difference_to_best"] == pytest.approx(seeds[0]["difference_to_best"])
    assert sure[0]["difference_standard_error"] == pytest.approx(0)
    # Means a word of 5 topics: 1.5 and 0.7.
    assert seeds[0]["difference_standard_error"] == pytest.approx(0.4)
    assert (recommend(sure)[0], recommend(seeds)[0]) == (9, 5)
