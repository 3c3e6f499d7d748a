"""`evaluate --measures`: models of any program in one table."""

import json
from unittest import mock

import numpy as np
import pytest

from corpora import Corpus, CorpusFormatError
from evaluation import coherence, exclusivity
from models import load_model
from models.topics import TopicWords
from pipeline.errors import UsageError
from pipeline.scoring.document_labels import _of_file, labels_of
from pipeline.scoring.measures_result import within_bounds
from pipeline.settings import EvaluateSettings
from tests.pipeline.scoring.support import load_documents
from tests.pipeline.support import call

DOCUMENTS = ("--counts", "docs.jsonl", "--threads", 1)


@pytest.fixture
def judged(zoo):
    """The zoo with lists of words, weights with shares, and labels of the documents."""
    saved, corpus = load_model(zoo / "model.npz"), load_documents(zoo)
    tops = [[saved.vocabulary[w] for w in row] for row in saved.topics.top_words(6)]
    (zoo / "words.csv").write_text("".join(f"{','.join(words)}\n" for words in tops))
    weights = saved.topics.topic_word
    lines = [",".join(saved.vocabulary), *(",".join(map(str, row)) for row in weights.tolist())]
    (zoo / "beta.csv").write_text("\n".join(lines))
    order = np.array([list(corpus.vocabulary).index(word) for word in saved.vocabulary])
    shares = saved.topics.proportions(corpus.counts[:, order])
    rows = [
        f"{d},{','.join(map(str, row))}"
        for d, row in zip(corpus.doc_ids, shares.tolist(), strict=True)
    ]
    (zoo / "theta.csv").write_text("\n".join(["id,topic_0,topic_1,topic_2", *rows[::-1]]))
    truth = load_model(zoo / "truth.npz")
    order = np.array([list(corpus.vocabulary).index(word) for word in truth.vocabulary])
    best = truth.topics.proportions(corpus.counts[:, order]).argmax(axis=1)
    named = [f"{d},label{k}" for d, k in zip(corpus.doc_ids, best.tolist(), strict=True)]
    (zoo / "labels.csv").write_text("\n".join(["id,label", *named]))
    return zoo


def evaluated(folder, *argv):
    return call("evaluate", *argv, *DOCUMENTS, "--json", cwd=folder).succeeded().result


def figures(result, model):
    return next(row for row in result["models"] if row["model"] == model)["figures"]


def test_one_table_of_models_of_all_kinds(judged):
    names = ("model.npz", "truth.npz", "words.csv", "beta.csv,theta.csv")
    asked = ("--measures", "all", "--labels", "labels.csv")
    result = evaluated(judged, *names, *asked)
    alone = evaluated(judged, "model.npz", "truth.npz")
    for row in alone["models"]:
        assert figures(result, row["model"])["nats a word"]["value"] == pytest.approx(
            row["nats_per_word"]
        )
    expected = alone["differences"][0]
    against = result["comparisons"]["nats a word"]
    assert against["best"] == alone["best"] == "truth.npz"
    difference = against["against"][0]
    assert difference["difference"] == pytest.approx(expected["nats_per_word"])
    assert difference["standard_error"] == pytest.approx(expected["standard_error"], rel=0.25)
    assert difference["told_apart"]
    corpus, saved = load_documents(judged), load_model(judged / "model.npz")
    tops = [[saved.vocabulary[w] for w in row] for row in saved.topics.top_words(10)]
    assert figures(result, "model.npz")["c_npmi"]["value"] == pytest.approx(
        coherence(tops, corpus).mean
    )
    words = figures(result, "words.csv")
    assert words["nats a word"]["value"] is None
    assert words["nats a word"]["why"] == "word lists have no weights"
    assert "MODEL,SHARES" in words["purity"]["why"]
    assert words["c_npmi"]["value"] is not None
    assert result["diversity_words"] == 6
    weights = figures(result, "beta.csv,theta.csv")
    assert "alpha" in weights["nats a word"]["why"]
    inferred = figures(result, "model.npz")
    for measure in ("purity", "nmi", "ari", "homogeneity", "accuracy", "exclusivity"):
        assert weights[measure] == pytest.approx(inferred[measure])
    perfect = figures(result, "truth.npz")["purity"]
    assert inferred["purity"]["value"] < perfect["value"] == 1.0
    assert (perfect["standard_error"], perfect["low"], perfect["high"]) == (None, None, None)
    assert "no certainty" in perfect["why"]
    assert result["labelled_documents"] == 60
    text = call("evaluate", *names, *asked, *DOCUMENTS, cwd=judged).succeeded().out
    assert weights["exclusivity"]["standard_error"] is None  # of three topics
    assert "words.csv has no nats a word, exclusivity: word lists have no weights" in text
    assert "best: truth.npz" in text


def test_models_of_other_seeds_are_one_row(judged):
    asked = ("--measures", "likelihood,stability")
    result = evaluated(
        judged, "model.npz+truth.npz+plain.joblib", "--vocabulary", "words.txt", *asked
    )
    both = evaluated(judged, "model.npz", "truth.npz", *asked)
    row = figures(result, "model.npz+truth.npz+plain.joblib")
    values = [figures(both, name)["nats a word"]["value"] for name in ("model.npz", "truth.npz")]
    mean = (2 * values[0] + values[1]) / 3  # the joblib is the npz
    assert row["nats a word"]["value"] == pytest.approx(mean)
    assert row["nats a word"]["seed_error"] == pytest.approx(
        np.std([values[0], values[0], values[1]], ddof=1) / np.sqrt(3), rel=1e-3
    )
    assert row["cosine"]["over"] == "models"
    assert row["cosine"]["standard_error"] > 0
    of_one_pair = figures(both, "model.npz")["cosine"]
    assert of_one_pair["standard_error"] is None
    assert of_one_pair["why"] == "there are too few models"
    assert "cosine" not in both["comparisons"]


def test_a_topic_of_one_word_takes_diversity_from_its_own_model_alone(judged):
    lines = (judged / "words.csv").read_text().splitlines()
    (judged / "short.csv").write_text("\n".join([*lines[:2], lines[2].split(",")[0]]))
    asked = ("--measures", "diversity")
    result = evaluated(judged, "words.csv", "short.csv", *asked)
    assert result["diversity_words"] == 6
    assert figures(result, "words.csv") == figures(
        evaluated(judged, "words.csv", *asked), "words.csv"
    )
    row = figures(result, "short.csv")["diversity"]
    assert row["value"] is None
    assert "one of its topics has 1 word, diversity is of 6 of each" in row["why"]
    alone = evaluated(judged, "short.csv", *asked)
    assert alone["diversity_words"] == 1
    assert figures(alone, "short.csv")["diversity"]["value"] is not None


def test_rows_have_names_that_tell_them_apart(judged):
    for name in ("a-longer-name.npz", "short.npz"):
        (judged / name).write_bytes((judged / "model.npz").read_bytes())
    others = ("model.npz", "truth.npz")
    rows = ("truth.npz+short.npz", *(f"a-longer-name.npz+{other}" for other in others))
    text = call("evaluate", *rows, *DOCUMENTS, "--measures", "diversity", cwd=judged).out
    lines = [line.split("  ")[0] for line in text.splitlines()]
    assert {
        "truth.npz + short.npz",
        "a-longer-name.npz + model.npz",
        "a-longer-name.npz + truth.npz",
    } < set(lines)
    rows = ("truth.npz+short.npz", "a-longer-name.npz+model.npz")
    text = call("evaluate", *rows, *DOCUMENTS, "--measures", "diversity", cwd=judged).out
    assert "\na-longer-name.npz + 1 more  " in text


def test_labels_of_few_documents_choose_the_documents(judged):
    lines = (judged / "labels.csv").read_text().splitlines()
    (judged / "few.csv").write_text("\n".join(lines[:41]))
    result = evaluated(judged, "model.npz", "--measures", "labels", "--labels", "few.csv")
    assert (result["labelled_documents"], result["documents"]) == (40, 60)
    (judged / "two.csv").write_text("\n".join([*lines[:3], lines[1].split(",")[0] + ",other"]))
    asked = ("--measures", "labels", "--labels", "two.csv")
    error = call("evaluate", "model.npz", *asked, *DOCUMENTS, cwd=judged).failed(3)
    assert "two.csv, line 4" in error
    assert "two labels" in error


def test_labels_that_are_all_the_same_or_of_other_documents_say_so(judged):
    ids = [line.split(",")[0] for line in (judged / "labels.csv").read_text().splitlines()[1:]]
    for name, rows, message in (
        ("same", [f"{each},one" for each in ids], "60 of 60 scored documents have a label, all"),
        ("others", [f"{each}x,one" for each in ids], "none of the 60 scored documents has a"),
    ):
        (judged / f"{name}.csv").write_text("\n".join(["id,label", *rows]))
        asked = ("--measures", "labels", "--labels", f"{name}.csv")
        error = call("evaluate", "model.npz", *asked, *DOCUMENTS, cwd=judged).failed(2)
        assert message in error
        assert ("do its ids fit" in error) == (name == "others")
    settings = EvaluateSettings(labels=str(judged / "others.csv"))
    with pytest.raises(UsageError, match=r"such as mine\?"):  # the id that the user gave
        labels_of(settings, mock.Mock(), None, [("en:-7", "-7", "mine")])


def test_labels_by_number_are_those_of_pages_in_their_order(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n1,a\n2,b\n3,\n")
    pages = [(f"en:{k}", str(k)) for k in (2, 12, 600)]
    assert _of_file(str(path), pages, has_pages=True) == ["a", "b", None]
    assert _of_file(str(path), pages, has_pages=False) == ["b", None, None]
    with pytest.raises(CorpusFormatError, match=r"only number 3 rows, and 2 pages .* as en:2"):
        _of_file(str(path), pages[:2], has_pages=True)
    path.write_text("id,label\n600,a\n12,b\n2,c\n")
    assert _of_file(str(path), pages, has_pages=True) == ["c", "b", "a"]


def test_why_coherence_has_no_error_is_said(judged):
    lines = (judged / "docs.jsonl").read_text().splitlines(keepends=True)
    (judged / "few.jsonl").write_text("".join(lines[:12]))
    argv = ("evaluate", "model.npz", "--counts", "few.jsonl", "--threads", 1)
    asked = (*argv, "--measures", "coherence")
    found = figures(call(*asked, "--json", cwd=judged).succeeded().result, "model.npz")["c_npmi"]
    assert found["value"] is not None
    assert found["standard_error"] is found["low"] is None
    assert "pairs of words are together in fewer than 5 of 12 blocks" in found["why"]
    (judged / "four.jsonl").write_text("".join(lines[:4]))
    few = ("evaluate", "model.npz", "--counts", "four.jsonl", "--threads", 1, "--json")
    result = call(*few, "--measures", "coherence", cwd=judged).succeeded()
    assert result.err.startswith("coherence of model.npz")  # and not the likelihood
    assert "4 blocks of documents" in figures(result.result, "model.npz")["c_npmi"]["why"]
    text = call(*asked, cwd=judged).succeeded().out
    assert f"model.npz has no standard error of c_npmi: {found['why']}" in text


@pytest.mark.parametrize(
    ("measure", "interval", "expected"),
    [
        ("cosine", (0.764, -0.074, 1.602), (0.0, 1.0)),
        ("c_npmi", (-0.9, -1.2, -0.6), (-1.0, -0.6)),
        ("nats a word", (6.0, 5.0, 7.0), (5.0, 7.0)),
        ("nmi", (-0.02, -0.05, 0.01), (-0.02, 0.01)),  # less its bias
    ],
)
def test_intervals_have_possible_values_alone(measure, interval, expected):
    assert within_bounds(measure, *interval) == expected
    assert np.isnan(within_bounds(measure, interval[0], np.nan, np.nan)).all()


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (("--measures", "coherense"), 2, "coherense is no measure"),
        (("--measures", ","), 2, "nothing is no measure"),
        (("--measures", "labels"), 2, "--labels COLUMN"),
        (("--measures", "coherence", "--labels", "labels.csv"), 2, "add it to --measures"),
        (("--measures", "all", "--labels", "stars"), 2, "no such file"),
        (("--measures", "all", "--certify"), 2, "--certify is of the likelihood alone"),
        (("--measures", "all", "--words", 1), 2, "--words must be at least 2"),
        (("--measures", "coherence", "--words", 51), 2, "--words must be at most 50"),
        (("--measures", "all", "--labels", "docs.jsonl"), 2, "do its ids fit the documents'"),
    ],
)
def test_refusals(judged, argv, code, message):
    assert message in call("evaluate", "model.npz", *argv, *DOCUMENTS, cwd=judged).failed(code)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("nothing.csv", 2, "no file 'nothing.csv', and no run 'nothing.csv'"),
        ("model.npz+model.npz", 2, "expected different models"),
        ("empty.csv", 3, "empty.csv: the file is empty"),
        ("words.csv,nothing.csv", 3, "nothing.csv"),
        ("words.csv,labels.csv", 3, "labels.csv: expected the weights of 3 topics"),
    ],
)
def test_models_that_cannot_be_read(judged, name, code, message):
    (judged / "empty.csv").write_text("\n")
    found = call("evaluate", name, "--measures", "all", *DOCUMENTS, cwd=judged)
    assert message in found.error
    assert found.code in (code, 1)


def test_a_model_under_which_a_document_is_impossible_says_so_and_others_are_scored(judged):
    saved = load_model(judged / "model.npz")
    weights = saved.topics.topic_word.copy()
    weights[:, 3] = 0.0
    content = {"topic_word": weights.tolist(), "vocabulary": saved.vocabulary, "alpha": 0.25}
    (judged / "zero.json").write_text(json.dumps(content))
    result = evaluated(judged, "model.npz", "zero.json", "--measures", "likelihood")
    assert "--smoothing" in figures(result, "zero.json")["nats a word"]["why"]
    assert figures(result, "model.npz")["nats a word"]["value"] is not None


def test_one_document_and_one_topic(judged):
    corpus = load_documents(judged)
    one = Corpus(corpus.counts[:1], corpus.vocabulary, corpus.doc_ids[:1])
    from corpora import write_corpus

    write_corpus(one, judged / "one.jsonl")
    (judged / "topic.txt").write_text("word01 word02 word03\n")
    argv = ("model.npz", "topic.txt", "--measures", "all", "--counts", "one.jsonl")
    result = call("evaluate", *argv, "--threads", 1, "--json", cwd=judged).succeeded().result
    assert figures(result, "model.npz")["nats a word"]["standard_error"] is None
    call("evaluate", *argv, "--threads", 1, cwd=judged).succeeded()


def test_topics_without_weight_are_in_no_mean_of_exclusivity(judged):
    saved = load_model(judged / "model.npz")
    weights = saved.topics.topic_word
    for name, some in (("two", [*weights[:2], 0 * weights[2]]), ("none", [*(0 * weights[:2])])):
        lines = [",".join(saved.vocabulary), *(",".join(map(str, row)) for row in some)]
        (judged / f"{name}.csv").write_text("\n".join(lines))
    result = evaluated(judged, "two.csv", "none.csv", "--measures", "exclusivity")
    rows = TopicWords(np.array([*weights[:2], 0 * weights[2]]))
    expected = exclusivity(rows)[:2].mean()
    assert figures(result, "two.csv")["exclusivity"]["value"] == pytest.approx(expected)
    found = figures(result, "none.csv")["exclusivity"]
    assert (found["value"], found["why"]) == (None, "no topic has a weight")
