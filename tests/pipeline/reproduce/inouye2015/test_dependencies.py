"""`reproduce lpmrf-dependencies`: topics, comparison with Table 1, training that continues."""

import json
import shlex
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

import pipeline.reproduce.run as command
from models import SavedModel
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topic_model import LPMRFTopicModel
from models.poisson_mrf.topics import LPMRFTopics
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted
from pipeline.reproduce.counts import Named
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import dependencies
from pipeline.reproduce.inouye2015.dependencies import (
    EXPERIMENT,
    PUBLISHED,
    Topic,
    as_json,
    compared,
    matched,
    missing_words,
)
from pipeline.reproduce.inouye2015.published import authors_split
from pipeline.runs.topic_rows import topic_rows
from tests.pipeline.reproduce.support import places, reproduced
from tests.pipeline.support import call

WORDS = ("ash", "birch", "cedar", "date", "elm", "fir", "gum", "hazel", "ivy")
PUBLISHED_WORDS = tuple(missing_words(()))
COMMAND = ("reproduce", "lpmrf-dependencies", "--threads", 1)
COUNTS = ("--counts", "counts.npz", "--penalty", 0.02)


def drawn_counts(n_docs=90):
    """Documents of three kinds; of each three words, two come together or not at all."""
    rng = np.random.default_rng(2)
    kind = np.arange(n_docs) % 3
    counts = rng.poisson(0.2, (n_docs, 9))
    for k in range(3):
        of_kind = np.flatnonzero(kind == k)
        together = rng.poisson(3.0, len(of_kind)) * rng.integers(2, size=len(of_kind))
        counts[of_kind, 3 * k] += together
        counts[of_kind, 3 * k + 1] += together
        counts[of_kind, 3 * k + 2] += 1 + rng.poisson(2.0, len(of_kind))
    return sparse.csr_array(counts)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with counts.npz and a vocabulary beside it; annealing is short."""
    sparse.save_npz(tmp_path / "counts.npz", drawn_counts())
    (tmp_path / "counts.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    for name in ("n_samples", "n_temperatures"):
        monkeypatch.setitem(dependencies.PROTOCOL, name, 3)
    return tmp_path


def run(*argv, cwd):
    return reproduced("lpmrf-dependencies", *COUNTS, *argv, cwd=cwd)


# --- Table 1 --------------------------------------------------------------------------------------


def test_the_published_table():
    assert len(PUBLISHED) == 3
    for topic in PUBLISHED:
        assert all(len(entries) == len(set(entries)) == 10 for entries in topic)
    assert PUBLISHED[0].positive[7] == ("language", "natural")
    assert PUBLISHED[1].positive[7] == ("stress", "reaction")
    assert PUBLISHED[2].positive[4] == ("non", "linear")
    assert "retrieval" in missing_words(word for topic in PUBLISHED for word in topic.words)
    assert missing_words(PUBLISHED_WORDS) == []


def test_training_documents_are_nine_tenths_and_the_same_each_time():
    counts = sparse.csr_array(np.arange(1, 31)[:, None])
    found = authors_split(counts)[0].toarray().ravel()
    assert len(set(found.tolist())) == 27
    assert found[:3].tolist() == (1 + np.argsort(np.random.RandomState(1).rand(30))[3:6]).tolist()


def test_topics_are_matched_by_words_whatever_their_order():
    topics = [PUBLISHED[2], PUBLISHED[0], Topic(("nothing",), (), ()), PUBLISHED[1]]
    assert matched(topics) == [1, 3, 0]


def test_ranks_of_published_entries():
    def turned(topic, n_before):
        others = tuple((f"a{n}", f"b{n}") for n in range(n_before))
        positive = (*others, *((t, s) for s, t in topic.positive))
        return Topic(topic.words[::-1], positive, topic.negative[:3])

    topics = [
        turned(topic, n_before) for topic, n_before in zip(PUBLISHED, (0, 5, 45), strict=True)
    ]
    rows = {(row["published_topic"], row["kind"]): row for row in compared(topics[::-1])}
    assert [rows[n, "words"]["topic"] for n in range(3)] == [2, 1, 0]
    assert [rows[n, "positive"]["found"]["12"] for n in range(3)] == [10, 7, 0]
    assert [rows[n, "positive"]["found"]["50"] for n in range(3)] == [10, 10, 5]
    assert [rows[n, "negative"]["found"]["50"] for n in range(3)] == [3, 3, 3]
    assert rows[0, "words"]["places"][0] == {"published": "information", "place": 10}
    assert rows[1, "positive"]["places"][0] == {"published": ["term", "long"], "place": 6}
    assert rows[1, "negative"]["places"][5]["place"] is None


def learned(is_published):
    """Return a model of all words of Table 1, with its dependencies or none, topics reversed."""
    place = {word: w for w, word in enumerate(PUBLISHED_WORDS)}
    n_words = len(PUBLISHED_WORDS)
    fields = []
    for topic in PUBLISHED[::-1]:
        node = np.full(n_words, -8.0)
        node[[place[word] for word in topic.words]] = -np.linspace(2.0, 3.0, 10)
        phi = np.zeros((n_words, n_words))
        signs = (topic.positive, 1.0), (topic.negative, -1.0)
        for pairs, sign in signs if is_published else ():
            for n, (first, second) in enumerate(pairs):
                s, t = place[first], place[second]
                phi[s, t] = phi[t, s] = sign * (1.0 - 0.05 * n)
        fields.append(FixedLengthPoissonMRF(node, sparse.csr_array(phi), 9.0))
    topics = LPMRFTopics.of_fields(fields, np.zeros((3, 4)), np.ones(3))
    model = SavedModel(topics, PUBLISHED_WORDS, prevalence=np.array([0.2, 0.3, 0.5]))
    corpus = Named("made up", sparse.csr_array(np.eye(n_words, dtype=int)), PUBLISHED_WORDS)
    spent = {"penalty": 0.1, "length_scale": 1.5, "seconds": 2.0}
    return Found(as_json(corpus, model, spent), model)


def test_the_published_table_is_found_in_its_own_model(capsys):
    found = learned(is_published=True)
    findings, result = EXPERIMENT.findings(found.result), found.result
    result["findings"] = [each.as_json() for each in findings]
    json.dumps(result, allow_nan=False)
    by_weight = [row for row in result["published"] if row["by"] == "weight"]
    assert len(by_weight) == 3 * 3
    assert {row["kind"] for row in result["published"] if row["by"] == "effect"} == {
        "positive",
        "negative",
    }
    for row in by_weight:
        assert row["topic"] == 2 - row["published_topic"]
        assert row["found"] == {"12": 10, "50": 10}
        assert [place["place"] for place in row["places"]] == list(range(1, 11))
    assert all(each.holds for each in findings)
    command.print_reproduction(
        {**result, "experiment": "lpmrf-dependencies", "pictures": [], "path": "x"}
    )
    text = capsys.readouterr().out
    assert "Topic 2, 50.0% of tokens\n" in text
    assert "20 dependencies, the strongest by Φ and by effect" in text
    assert "Table 1 has it as topic 1" in " ".join(text.split())
    assert "language+natural*" in text
    (line, *_) = (line for line in text.splitlines() if "weight" in line)
    assert line.split()[-3:] == ["10"] * 3
    assert all(line == line.rstrip() for line in text.splitlines())
    figure = Figure(figsize=(10, 6))
    (draw,) = EXPERIMENT.draw(found).values()
    draw(figure)
    assert len(figure.axes) == 3


def test_claims_name_the_topics_that_fail():
    result = learned(is_published=False).result
    words, positive, negative = places(EXPERIMENT, result).values()
    assert words == []
    assert positive == negative == [f"published topic {number}" for number in (1, 2, 3)]
    others = [row for row in result["published"] if row["kind"] != "words"]
    assert all(place["place"] is None for row in others for place in row["places"])


# --- training -------------------------------------------------------------------------------------


def test_topics_are_those_of_the_protocol(no_pictures, place, capsys):
    result = run("--seed", 4, cwd=place)
    written = place / "reproduce" / "lpmrf-dependencies" / "lpmrf-dependencies.json"
    assert json.loads(written.read_text()) == result
    settings = {"penalty": 0.02, "length_scale": 1.5, "random_state": 4}
    trainer = LPMRFTopicModel(3, **dependencies.PROTOCOL, **settings)
    model = SavedModel(trainer.fit(authors_split(drawn_counts())[0]).topics_, WORDS)
    assert trainer.assignments == "moves"
    ours = {row["topic"]: row for row in result["rows"]}
    effect = topic_rows(model, 10, 10, "effect")
    for row, by_effect in zip(topic_rows(model, 10, 10), effect, strict=True):
        found = ours[row["topic"]]
        assert (found["words"], found["positive"]) == (row["words"], list(row["positive"]))
        assert found["positive_by_effect"] == list(by_effect["positive"])
        assert found["negative_by_effect"] == list(by_effect["negative"])
    assert sum(row["prevalence"] for row in result["rows"]) == pytest.approx(1.0)
    # Words that were planted to come together are the strongest pairs of the three topics.
    strongest = {tuple(sorted(list(row["positive"][0].values())[:2])) for row in result["rows"]}
    assert strongest == {("ash", "birch"), ("date", "elm"), ("gum", "hazel")}
    assert result["published"] == result["findings"] == []
    command.print_reproduction(result)
    text = capsys.readouterr().out
    assert "Not compared with the published table" in " ".join(text.split())
    assert "ash+birch" in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.slow
def test_interrupted_training_continues(no_pictures, place, monkeypatch):
    whole = run("--output", "whole", cwd=place)
    ResultCache().clear()
    monkeypatch.setattr(dependencies, "CHECKPOINT_SECONDS", 0.0)
    trained = []
    iterate = LPMRFTopicModel.iterate

    def until_the_third(self, *args, **named):
        for step in iterate(self, *args, **named):
            trained.append(step)
            yield step
            if len(trained) == 3:
                raise Interrupted(15)

    with mock.patch.object(LPMRFTopicModel, "iterate", until_the_third):
        assert call(*COMMAND, *COUNTS, "--output", "parts", cwd=place).code == 143
        again = run("--output", "parts", cwd=place)
    assert [step.n_rounds for step in trained] == list(range(1, len(trained) + 1))
    assert len(trained) > 4
    for result in (again, whole):
        del result["path"], result["seconds"]
    assert again == whole
    # A damaged checkpoint is ignored.
    (path,) = ResultCache().directory.glob("*/*.npz")
    path.write_bytes(path.read_bytes()[:200])
    assert run("--output", "parts", cwd=place)["rows"] == whole["rows"]


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("--counts counts.npz,bare.npz", 2, "lpmrf-dependencies takes one file, found 2"),
        ("--counts nowhere.npz", 3, "--counts: there is no file or directory nowhere.npz"),
        ("--counts bare.npz", 2, "--vocabulary: bare.npz: no vocabulary beside it"),
        ("--counts bare.npz --vocabulary nowhere.txt", 3, "nowhere.txt"),
        ("--counts bare.npz --vocabulary short.txt", 3, "short.txt has 2: give the words"),
        ("--counts x.xyz", 2, "it can be uci, mtx, ldac, npz"),
        ("--vocabulary short.txt", 2, "--vocabulary is of --counts"),
        ("--counts few.npz", 2, "few: 3 topics need as many documents"),
        ("--counts counts.npz --penalty 0", 2, "--penalty must be positive"),
        ("--counts counts.npz --length-scale -1", 2, "--length-scale must be positive"),
    ],
)
def test_refusals(argv, code, complaint, place):
    sparse.save_npz(place / "bare.npz", drawn_counts())
    sparse.save_npz(place / "few.npz", sparse.csr_array(np.eye(2, 9, dtype=int)))
    (place / "few.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    (place / "short.txt").write_text("ash\nbirch\n")
    (place / "x.xyz").touch()
    outcome = call(*COMMAND, *shlex.split(argv), cwd=place)
    assert outcome.code == code, outcome.err
    assert complaint in outcome.error
