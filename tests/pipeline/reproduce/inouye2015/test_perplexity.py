"""Perplexity of models of Poisson MRFs: the split, both measures, and what is compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp
from scipy.stats import multinomial

from evaluation.comparison import paired_difference
from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.exact_likelihood import exact
from evaluation.poisson_mrf.exact_partition import exact_log_partition
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.models import (
    FEW,
    FIELDS,
    MULTINOMIAL,
    Cell,
    Effort,
    Score,
    fitted,
    likelihood,
    missing_at_least,
    score,
    with_table,
)
from pipeline.reproduce.inouye2015.perplexity import (
    Perplexities,
    PerplexitySettings,
    published_split,
    selection,
)
from tests.shared_data import shared_file

pytestmark = pytest.mark.slow

SMALL = Effort(
    n_samples=20,
    n_temperatures=10,
    round_temperatures=5,
    likelihood_temperatures=10,
    n_repeats=3,
    selection_samples=10,
    selection_temperatures=5,
    n_rounds=2,
    n_sweeps=2,
    lda_sweeps=10,
    n_chains=10,
    chain_temperatures=10,
)
CHOSEN = (0.1, 1.5)
SETTINGS = PerplexitySettings((2,), SMALL, (0.5, 0.1), (1.0, 2.0), seed=2)


def documents(n_docs: int = 60, seed: int = 0) -> sparse.csr_array:
    """Of two halves of 10 words, whose first two come together; lengths vary."""
    rng = np.random.default_rng(seed)
    rate = np.repeat([[1.0], [0.1]], 5, axis=1).ravel() * np.ones((n_docs, 10))
    rate[rng.random(n_docs) < 0.5] = rate[0, ::-1]
    rate[:, :2] *= np.exp(rng.standard_normal((n_docs, 1)))
    return sparse.csr_array(rng.poisson(1.5 * rate))


def scored(cell: Cell, seed: int = 2) -> Score:
    split = published_split(documents())
    return score(cell, split.train, split.test, CHOSEN, SMALL, seed)


def test_the_published_split() -> None:
    counts = sparse.csr_array(np.diag(np.arange(1, 58)))
    split = published_split(counts)
    order = np.argsort(np.random.RandomState(1).rand(57))
    assert split.test.toarray().tolist() == counts.toarray()[order[:5]].tolist()
    assert split.train.toarray().tolist() == counts.toarray()[order[5:]].tolist()
    again = split.for_selection
    assert again.train.toarray().tolist() == split.train.toarray()[:47].tolist()
    assert again.test.toarray().tolist() == split.train.toarray()[47:].tolist()
    assert not split.is_classic3
    for few in (np.eye(9), np.eye(10), np.zeros((100, 3))):
        with pytest.raises(ValueError, match="some 20 documents with tokens"):
            published_split(sparse.csr_array(few))


@pytest.mark.shared
def test_classic3_is_known_again() -> None:
    counts = sparse.csr_array(sparse.load_npz(shared_file("classic3/bow_3890x1000.npz")))
    assert published_split(counts).is_classic3
    assert not published_split(counts[1:]).is_classic3
    counts.data[0] += 1
    assert not published_split(counts).is_classic3


def test_the_published_measure_of_one_multinomial() -> None:
    split = published_split(documents())
    found = scored(Cell("single", MULTINOMIAL, 1))
    train, test = split.train.toarray(), split.test.toarray()
    train = train[train.sum(axis=1) > 0]
    p = train.mean(axis=0) + 1e-4
    p /= p.sum()
    for part, measured in ((test, found.test), (train, found.train)):
        total = sum(multinomial.logpmf(x, x.sum(), p) for x in part)
        assert measured == pytest.approx([np.exp(-total / part.sum())], rel=1e-6)
    assert found.summed is not None
    assert found.summed.total == pytest.approx((test @ np.log(p)).sum(), rel=1e-6)
    assert (found.penalty, found.n_nonzeros) == (math.inf, 0)


def test_both_measures_of_a_mixture() -> None:
    split = published_split(documents())
    cell = Cell("mixture", MULTINOMIAL, 2)
    found, model = scored(cell), fitted(cell, split.train, (math.inf, 1.5), SMALL, 2)
    x = split.test.toarray()
    log_p = x @ np.log(model.topic_word.T)
    orders = np.array([multinomial.logpmf(row, row.sum(), np.full(10, 0.1)) for row in x])
    orders += x.sum(axis=1) * np.log(10)
    at_best = (log_p.max(axis=1) + orders).sum()
    assert found.test[0] == pytest.approx(np.exp(-at_best / x.sum()))
    summed = logsumexp(log_p + np.log(model.prior / model.prior.sum()), axis=1)
    assert found.summed is not None
    scored_ones = x.sum(axis=1) > 0
    assert found.summed.log_likelihood[scored_ones] == pytest.approx(summed[scored_ones])


@pytest.mark.slow
def test_topic_models_are_scored_by_one_method() -> None:
    split = published_split(documents())
    short = split.train[np.asarray(split.train.sum(axis=1)).ravel() <= 6]
    assert short.sum() > 20
    for cell in (
        Cell("topics", MULTINOMIAL, 2),
        Cell("gibbs", MULTINOMIAL, 2),
        Cell("gibbs", FIELDS, 2),
    ):
        chosen = (math.inf, 1.5) if cell.base == MULTINOMIAL else CHOSEN
        model = fitted(cell, split.train, chosen, SMALL, 2)
        assert isinstance(model, LPMRFTopics)
        assert (len(model.edge_weight) > 0) == (cell.base == FIELDS)
        truth = exact(model, DocumentBlock(short))
        effort = replace(SMALL, n_chains=100, chain_temperatures=40)
        annealed = likelihood(model, short, effort, 0)
        assert annealed.method == "annealed-importance-sampling"
        error = np.hypot(annealed.monte_carlo_standard_error, 1e-9)
        assert abs(annealed.total - truth.total) < 4 * error


def test_few_temperatures_are_the_same_fields_again() -> None:
    few, many = scored(Cell("single", FEW, 1)), scored(Cell("single", FIELDS, 1))
    assert len(few.test) == len(few.train) == 3
    assert len(set(few.test)) == 3
    assert few.summed is None
    assert few.n_nonzeros == many.n_nonzeros > 0
    assert few.test == pytest.approx(np.full(3, many.test[0]), rel=0.2)


def test_a_table_comes_out_again_under_its_own_settings() -> None:
    train = published_split(documents()).train
    cell = Cell("mixture", FIELDS, 2)
    model = fitted(cell, train, CHOSEN, SMALL, 2)
    assert isinstance(model, LPMRFClusters)
    again = with_table(model, "envelope", (20, 5), CHOSEN[1], 2)
    assert again.log_partition == pytest.approx(model.log_partition, rel=1e-9)
    other = with_table(model, "smc", (20, 5), CHOSEN[1], 2)
    assert other.log_partition != pytest.approx(model.log_partition, rel=1e-3)
    assert other.topic_word == pytest.approx(model.topic_word, rel=1e-12)


@pytest.mark.parametrize("interaction", [0.05, 2.0])
def test_what_a_partition_function_lacks_for_certain(interaction: float) -> None:
    phi = np.zeros((4, 4))
    phi[0, 1] = phi[1, 0] = interaction
    field = FixedLengthPoissonMRF(np.log([0.1, 0.1, 0.4, 0.4]), phi, 12.0)
    exact_table = [0.0, *(exact_log_partition(field, n) + gammaln(n + 1.0) for n in range(1, 9))]
    # The true one lacks nothing; one that knows of no interactions does where they are strong.
    true = LPMRFClusters.of_fields([field], [exact_table], [1.0])
    assert missing_at_least(true, 1.5) == 0
    blind = LPMRFClusters.of_fields([field], np.zeros((1, 9)), [1.0])
    missing = missing_at_least(blind, 1.5)
    x = np.array([4, 4, 0, 0])
    term = field.log_weight(x[None])[0] + gammaln(9.0)
    assert missing == pytest.approx(max(term, 0.0))
    assert missing <= exact_table[8]
    assert (missing > 10) == (interaction == 2.0)


def test_the_same_bits_for_a_seed_whatever_the_threads() -> None:
    split = published_split(documents())
    cell = Cell("mixture", FIELDS, 2)
    seen: list[int] = []
    first = scored(cell)
    again = score(
        cell,
        split.train,
        split.test,
        CHOSEN,
        SMALL,
        2,
        n_jobs=3,
        on_round=lambda: seen.append(1),
    )
    assert seen
    assert first.summed is not None
    assert again.summed is not None
    assert (first.test, first.train) == (again.test, again.train)
    assert (first.summed.log_likelihood == again.summed.log_likelihood).all()
    assert scored(cell, seed=3).test != first.test


def perplexities() -> Perplexities:
    split = published_split(documents())
    scores = {cell: scored(cell) for cell in SETTINGS.cells}
    return Perplexities("lpmrf-classic3", "x", SETTINGS, split, scores, {})


@pytest.mark.slow
def test_what_is_compared() -> None:
    found = perplexities()
    pairs = [(each.first, each.second) for each in found.differences()]
    assert pairs == [
        (Cell("single", FIELDS, 1), Cell("single", MULTINOMIAL, 1)),
        (Cell("mixture", FIELDS, 2), Cell("mixture", MULTINOMIAL, 2)),
        (Cell("topics", FIELDS, 2), Cell("topics", MULTINOMIAL, 2)),
        (Cell("topics", FIELDS, 2), Cell("gibbs", MULTINOMIAL, 2)),
        (Cell("gibbs", FIELDS, 2), Cell("gibbs", MULTINOMIAL, 2)),
    ]
    for first, second, difference in found.differences():
        one, other = found.scores[first].summed, found.scores[second].summed
        assert one is not None
        assert other is not None
        assert difference == paired_difference(one, other)
    single = Cell("single", MULTINOMIAL, 1)
    assert found.bag_perplexity(single) == pytest.approx(found.scores[single].test[0])
    assert found.published(single) is None  # which is of other documents
    with pytest.raises(ValueError, match="not those of the settings"):
        replace(found, scores={})


def test_where_penalties_come_from() -> None:
    settings = PerplexitySettings()
    assert settings.source_of("single", 1) == "validation"
    published = replace(settings, by_published=True)
    sources = {key: published.source_of(*key) for key in (("mixture", 3), ("mixture", 10))}
    assert list(sources.values()) == ["published", "validation"]
    assert replace(published, given=(0.1, 1.0)).source_of("mixture", 3) == "given"
    assert {cell.chosen_for for cell in settings.cells if cell.kind == "gibbs"} == {
        ("topics", n_topics) for n_topics in (3, 10, 20)
    }
    assert set(lpmrf_published.CHOSEN) <= {cell.chosen_for for cell in settings.cells}
    assert {Cell(*key) for key in lpmrf_published.PERPLEXITY} <= set(settings.cells)


@pytest.mark.parametrize("kind", ["mixture", "topics"])
def test_a_selection_is_of_training_documents_alone(kind: str) -> None:
    split = published_split(documents())
    found = selection(kind, 2, split, SETTINGS)
    assert np.isfinite(found.perplexity).all()
    other = replace(split, test=split.test[:1])
    assert np.array_equal(selection(kind, 2, other, SETTINGS).perplexity, found.perplexity)
    assert found.penalty in SETTINGS.penalties
    assert found.length_scale in SETTINGS.length_scales


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="n_topics must be at least 2, found"):
        PerplexitySettings((3, 1))
    for name, least in (("n_chains", 2), ("n_temperatures", 2), ("n_rounds", 1)):
        with pytest.raises(ValueError, match=f"^{name} must be at least {least}, found"):
            Effort(**{name: least - 1})


@pytest.mark.slow
@pytest.mark.shared
def test_multinomials_come_out_as_published() -> None:
    counts = sparse.csr_array(sparse.load_npz(shared_file("classic3/bow_3890x1000.npz")))
    split = published_split(counts)
    for (kind, base, n_topics), published in lpmrf_published.PERPLEXITY.items():
        if base == MULTINOMIAL:
            cell = Cell(kind, base, n_topics)
            effort = replace(SMALL, chain_temperatures=2, n_chains=2)
            found = score(cell, split.train, split.test, CHOSEN, effort, 0)
            assert (found.test[0], found.train[0]) == pytest.approx(published, abs=1e-3)
