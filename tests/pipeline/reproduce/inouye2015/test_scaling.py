"""What Figure 4 of Inouye et al. 2015 is made of: documents, penalties and powers; and Table 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from models.poisson_mrf.node_regressions import fit_nodes
from pipeline.reproduce.inouye2015 import scaling as lpmrf_scaling
from pipeline.reproduce.inouye2015.dependencies import (
    KINDS,
    PUBLISHED,
    Topic,
    compared,
    matched,
    missing_words,
    training_part,
)
from pipeline.reproduce.inouye2015.scaling import (
    PUBLISHED_PENALTY,
    Scaling,
    ScalingSettings,
    Timing,
    documents_of,
    penalty_for,
    powers,
    quickest,
    steps,
    time_annealing,
    time_matrices,
    time_regressions,
)

SMALL = ScalingSettings(
    documents=(40, 80),
    words=(4, 8),
    matrix_documents=(20, 40),
    matrix_words=(8,),
    topics=(2, 3),
    annealing_words=(4, 8),
    n_nonzeros=20,
    wanted_nonzeros=20,
    field_documents=60,
    n_samples=2,
    n_temperatures=3,
)


def drawn_counts(rate: float = 1.0, n_docs: int = 60) -> sparse.csr_array:
    """Documents of two kinds over ten words, the first the most frequent."""
    rng = np.random.default_rng(4)
    rates = rate * np.linspace(1.5, 0.5, 10) * np.where(np.arange(10) % 2, 1.0, 0.2)
    kinds = np.stack([rates, rates[::-1]])
    return sparse.csr_array(rng.poisson(kinds[rng.integers(2, size=n_docs)]))


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quick is not done several times."""
    monkeypatch.setattr(lpmrf_scaling, "LEAST_SECONDS", 0.0)


# --- documents and penalties ----------------------------------------------------------------------


def test_documents_come_once_before_any_comes_twice() -> None:
    counts = drawn_counts()
    counts = sparse.csr_array(sparse.vstack([counts, sparse.csr_array((3, 10), dtype=int)]))
    found = documents_of(counts, 150, 10, 0).toarray()
    n_filled = int((counts.sum(axis=1) > 0).sum())
    assert found.shape == (150, 10)
    assert (found.sum(axis=1) > 0).all()

    def as_rows(matrix: np.ndarray) -> list[tuple[int, ...]]:
        return sorted(map(tuple, matrix.tolist()))

    filled = counts.toarray()[np.asarray(counts.sum(axis=1)).ravel() > 0]
    for start in (0, n_filled):
        assert as_rows(found[start : start + n_filled]) == as_rows(filled)
    # Fewer are the first of more, and another seed another order.
    assert (documents_of(counts, 70, 10, 0).toarray() == found[:70]).all()
    assert (documents_of(counts, 70, 10, 1).toarray() != found[:70]).any()


def test_the_most_frequent_words_are_kept() -> None:
    counts = drawn_counts()
    total = np.asarray(counts.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-total, kind="stable")[:4])
    n_filled = int((counts[:, kept].sum(axis=1) > 0).sum())
    found = documents_of(counts, n_filled, 4, 0)
    assert found.sum(axis=0).tolist() == total[kept].tolist()
    with pytest.raises(ValueError, match="expected 11 words at least, found 10"):
        documents_of(counts, 5, 11, 0)
    with pytest.raises(ValueError, match="found none"):
        documents_of(sparse.csr_array((3, 10), dtype=int), 5, 4, 0)


def test_the_published_penalty_is_taken_where_it_gives_nonzeros() -> None:
    many = sparse.csr_array(20 * drawn_counts().toarray())
    assert penalty_for(many, SMALL) == (PUBLISHED_PENALTY, True)
    counts = drawn_counts(0.4)
    documents = documents_of(counts, 40, 8, SMALL.seed)
    assert not fit_nodes(documents, PUBLISHED_PENALTY).coefficients.nnz
    penalty, is_published = penalty_for(counts, SMALL)
    assert not is_published
    found = fit_nodes(documents, penalty).field().interactions.nnz
    assert 10 <= found <= 40  # of 56 that there can be, 20 are wanted


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"words": (1, 5)}, "words must all be at least 2"),
        ({"documents": ()}, "documents must all be at least 2"),
        ({"topics": (0,)}, "topics must be positive"),
        ({"n_temperatures": 1}, "n_temperatures must be at least 2, found 1"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        replace(SMALL, **wrong)  # type: ignore[arg-type]


# --- times ----------------------------------------------------------------------------------------


def test_every_size_is_timed_once() -> None:
    counts = drawn_counts()
    timings = [each for name, measure in steps(counts, SMALL, 0.05) for each in measure() if name]
    sizes = [(each.n_docs, each.n_words) for each in timings if each.part == "regressions"]
    assert sizes == [(40, 4), (40, 8), (80, 4), (80, 8)]
    matrices = [each[1:4] for each in timings if each.part == "matrices"]
    assert matrices == [(20, 8, 2), (40, 8, 2), (20, 8, 3), (40, 8, 3)]
    annealed = [each for each in timings if each.part == "annealing"]
    assert {each.n_words for each in annealed} == {4, 8}
    assert all(each.seconds > 0 for each in timings)
    names = [name for name, _ in steps(counts, SMALL, 0.05)]
    assert len(set(names)) == len(names) == 4 + 2 + 2


def test_nonzeros_are_those_of_the_model() -> None:
    counts = drawn_counts()
    timing = time_regressions(counts, SMALL, 0.05, (80, 8))
    field = fit_nodes(documents_of(counts, 80, 8, 0), 0.05).field()
    assert timing[:5] == ("regressions", 80, 8, 0, field.interactions.nnz)
    assert field.interactions.nnz > 0
    first, second = time_matrices(counts, SMALL, 0.05, (8, 2))
    assert first.nonzeros == second.nonzeros > 0


def test_annealing_goes_from_few_nonzeros_to_those_wanted() -> None:
    timings = time_annealing(drawn_counts(), SMALL, 8)
    nonzeros = [each.nonzeros for each in timings]
    assert nonzeros == sorted(nonzeros)
    assert nonzeros[-1] >= SMALL.n_nonzeros
    assert all(n < SMALL.n_nonzeros for n in nonzeros[:-1])
    # There can be no more than 12 over four words: it ends with the least penalty.
    few = time_annealing(drawn_counts(), SMALL, 4)
    assert few[-1].nonzeros <= 12


def test_what_is_quick_is_timed_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.cumsum([0, 3.0, 0, 1.0, 0, 2.0, 0, 5.0]).tolist())
    monkeypatch.setattr(lpmrf_scaling.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(lpmrf_scaling, "LEAST_SECONDS", 5.5)
    done: list[int] = []
    assert quickest(lambda: done.append(1)) == 1.0
    assert len(done) == 3


# --- powers ---------------------------------------------------------------------------------------


def timings_of(exponents: dict[str, float], noise: float, seed: int = 0) -> list[Timing]:
    rng = np.random.default_rng(seed)
    return [
        Timing(
            *("matrices", n, p, k, 7),
            seconds=1e-6
            * n ** exponents["n_docs"]
            * p ** exponents["n_words"]
            * k ** exponents["n_topics"]
            * float(np.exp(noise * rng.normal())),
        )
        for n in (100, 400, 1000)
        for p in (10, 50, 90)
        for k in (3, 5, 10)
    ]


NAMES = ("n_docs", "n_words", "n_topics")


def test_powers_without_noise_are_found() -> None:
    exponents = {"n_docs": 1.0, "n_words": 0.5, "n_topics": 2.0}
    found = powers(timings_of(exponents, 0.0), NAMES)
    for name, exponent in exponents.items():
        assert found[name].exponent == pytest.approx(exponent, abs=1e-9)
        assert found[name].standard_error < 1e-9
    # A size that does not vary has no power, and with as many sizes as timings there is no error.
    some = [each for each in timings_of(exponents, 0.0) if each.n_topics == 3]
    assert list(powers(some, NAMES)) == ["n_docs", "n_words"]
    two = [each for each in some if each.n_words == 10][:2]
    assert np.isnan(powers(two, NAMES)["n_docs"].standard_error)


def test_standard_errors_of_powers_are_those_of_noise() -> None:
    exponents = {"n_docs": 1.0, "n_words": 0.5, "n_topics": 2.0}
    n_seeds = 200
    found = [powers(timings_of(exponents, 0.3, seed), NAMES) for seed in range(n_seeds)]
    for name, exponent in exponents.items():
        t = np.array(
            [(each[name].exponent - exponent) / each[name].standard_error for each in found]
        )
        # t of 23 degrees of freedom: mean 0, variance 23/21, excess 6/19; four standard errors.
        assert abs(t.mean()) < 4 * np.sqrt(23 / 21 / n_seeds)
        assert abs(t.var() - 23 / 21) < 4 * 23 / 21 * np.sqrt((2 + 6 / 19) / n_seeds)
        wrong = np.array(
            [(each[name].exponent - exponent - 0.2) / each[name].standard_error for each in found]
        )
        assert abs(wrong.mean()) > 4 * np.sqrt(23 / 21 / n_seeds)


def test_powers_are_of_each_part() -> None:
    exponents = {"n_docs": 1.0, "n_words": 0.0, "n_topics": 2.0}
    matrices = timings_of(exponents, 0.0)
    regressions = [Timing("regressions", n, p, 0, 5, n * p) for n in (2, 4) for p in (3, 9)]
    annealing = [Timing("annealing", 9, p, 0, e, e) for e in (20, 40, 90) for p in (3, 9)]
    found = Scaling(SMALL, 1.0, True, (*regressions, *matrices, *annealing))
    assert found.of("regressions") == regressions
    assert found.powers["regressions"]["n_words"].exponent == pytest.approx(1.0)
    assert found.powers["matrices"]["n_topics"].exponent == pytest.approx(2.0)
    assert found.powers["annealing"]["nonzeros"].exponent == pytest.approx(1.0)
    assert found.powers["annealing"]["n_words"].exponent == pytest.approx(0.0, abs=1e-9)


# --- Table 1 --------------------------------------------------------------------------------------


def test_the_published_table() -> None:
    assert len(PUBLISHED) == 3
    for topic in PUBLISHED:
        assert all(
            len(getattr(topic, kind)) == len(set(getattr(topic, kind))) == 10 for kind in KINDS
        )
    assert PUBLISHED[0].positive[7] == ("language", "natural")
    assert PUBLISHED[1].positive[7] == ("stress", "reaction")
    assert PUBLISHED[2].positive[4] == ("non", "linear")
    vocabulary = {word for topic in PUBLISHED for word in topic.words}
    assert "retrieval" in missing_words(vocabulary)
    everything = {word for topic in PUBLISHED for pair in topic[1] + topic[2] for word in pair}
    assert missing_words(vocabulary | everything) == []


def test_the_training_part_is_nine_tenths_the_same_each_time() -> None:
    counts = sparse.csr_array(np.arange(1, 31)[:, None])
    found = training_part(counts).toarray().ravel()
    assert len(set(found.tolist())) == 27
    assert found[:3].tolist() == (1 + np.argsort(np.random.RandomState(1).rand(30))[3:6]).tolist()
    assert (training_part(counts).toarray().ravel() == found).all()


def test_topics_are_matched_by_words_whatever_their_order() -> None:
    topics = [PUBLISHED[2], PUBLISHED[0], Topic(("nothing",), (), ()), PUBLISHED[1]]
    assert matched(topics) == [1, 3, 0]
    with pytest.raises(ValueError, match="expected 3 topics at least"):
        matched(topics[:2])


def test_where_published_pairs_stand() -> None:
    def turned(topic: Topic, n_before: int) -> Topic:
        others = tuple((f"a{n}", f"b{n}") for n in range(n_before))
        positive = (*others, *((t, s) for s, t in topic.positive))
        return Topic(topic.words[::-1], positive, topic.negative[:3])

    topics = [
        turned(topic, n_before) for topic, n_before in zip(PUBLISHED, (0, 5, 45), strict=True)
    ]
    found = compared(topics[::-1])
    assert [each.topic for each in found] == [2, 1, 0]
    assert [each.found("positive", 12) for each in found] == [10, 7, 0]
    assert [each.found("positive", 50) for each in found] == [10, 10, 5]
    assert [each.found("negative", 50) for each in found] == [3, 3, 3]
    assert found[0].places["words"][0] == ("information", 10)
    assert found[1].places["positive"][0] == (("term", "long"), 6)
    assert found[1].places["negative"][5].place is None
