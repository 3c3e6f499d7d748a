"""Models of both data sets, fitted and scored by both measures."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp
from scipy.stats import multinomial

from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.exact_likelihood import exact
from evaluation.poisson_mrf.exact_partition import exact_log_partition
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.errors import UsageError
from pipeline.reproduce.inouye2015 import published
from pipeline.reproduce.inouye2015.models import (
    FEW,
    FIELDS,
    MULTINOMIAL,
    SUMMED,
    Scorer,
    Variant,
    missing_at_least,
)
from tests.pipeline.reproduce.inouye2015.small_models import (
    CHOSEN,
    MIXTURE,
    SINGLE,
    SMALL,
    classic3,
    scored,
    split_counts,
    summed_of,
)

pytestmark = pytest.mark.slow


def test_the_published_split():
    counts = sparse.csr_array(np.diag(np.arange(1, 58)))
    split = split_counts(counts)
    order = np.argsort(np.random.RandomState(1).rand(57))
    assert split.test.toarray().tolist() == counts.toarray()[order[:5]].tolist()
    assert split.train.toarray().tolist() == counts.toarray()[order[5:]].tolist()
    again = split.for_selection
    assert again.train.toarray().tolist() == split.train.toarray()[:47].tolist()
    assert again.test.toarray().tolist() == split.train.toarray()[47:].tolist()
    assert not split.is_classic3
    for few in (np.eye(9), np.eye(10), np.zeros((100, 3))):
        with pytest.raises(UsageError, match="some 20 documents with tokens"):
            split_counts(sparse.csr_array(few))


@pytest.mark.shared
def test_classic3_is_recognised():
    counts = classic3()
    assert split_counts(counts).is_classic3
    assert not split_counts(counts[1:]).is_classic3
    counts.data[0] += 1
    assert not split_counts(counts).is_classic3


@pytest.mark.shared
def test_multinomials_come_out_as_published():
    split = split_counts(classic3())
    budget = replace(SMALL, chain_temperatures=2, n_chains=2)
    for known, theirs in published.PERPLEXITY.items():
        variant = Variant(*known)
        if variant.base == MULTINOMIAL:
            found = scored(variant, split, seed=0, budget=budget)
            assert (found["test"][0], found["train"][0]) == pytest.approx(theirs, abs=1e-3)


def test_both_measures_of_one_multinomial(split):
    found = scored(SINGLE._replace(base=MULTINOMIAL), split)
    train, test = split.train.toarray(), split.test.toarray()
    train = train[train.sum(axis=1) > 0]
    p = train.mean(axis=0) + 1e-4
    p /= p.sum()
    for part, measured in ((test, found["test"]), (train, found["train"])):
        total = sum(multinomial.logpmf(x, x.sum(), p) for x in part)
        assert measured == pytest.approx([np.exp(-total / part.sum())], rel=1e-6)
    assert summed_of(found).total == pytest.approx((test @ np.log(p)).sum(), rel=1e-6)
    assert found["nonzeros"] == 0


def test_both_measures_of_a_mixture(split):
    variant = MIXTURE._replace(base=MULTINOMIAL)
    found = scored(variant, split)
    model = Scorer(SMALL, 2).fitted(variant, split.train, (math.inf, 1.5))
    x = split.test.toarray()
    log_p = x @ np.log(model.topic_word.T)
    orders = np.array([multinomial.logpmf(row, row.sum(), np.full(10, 0.1)) for row in x])
    orders += x.sum(axis=1) * np.log(10)
    at_best = (log_p.max(axis=1) + orders).sum()
    assert found["test"][0] == pytest.approx(np.exp(-at_best / x.sum()))
    summed = logsumexp(log_p + np.log(model.prior / model.prior.sum()), axis=1)
    scored_ones = x.sum(axis=1) > 0
    assert summed_of(found).log_likelihood[scored_ones] == pytest.approx(summed[scored_ones])


@pytest.mark.parametrize(
    ("kind", "base"), [("topics", MULTINOMIAL), ("gibbs", MULTINOMIAL), ("gibbs", FIELDS)]
)
def test_topic_models_are_scored_by_one_method(kind, base, split):
    short = split.train[np.asarray(split.train.sum(axis=1)).ravel() <= 6]
    assert short.sum() > 20
    chosen = (math.inf, 1.5) if base == MULTINOMIAL else CHOSEN
    model = Scorer(SMALL, 2).fitted(Variant(kind, base, 2), split.train, chosen)
    assert isinstance(model, LPMRFTopics)
    assert (len(model.edge_weight) > 0) == (base == FIELDS)
    truth = exact(model, DocumentBlock(short))
    budget = replace(SMALL, n_chains=100, chain_temperatures=40)
    annealed = Scorer(budget, 0).likelihood(model, short)
    assert annealed.method == "annealed-importance-sampling"
    error = np.hypot(annealed.monte_carlo_standard_error, 1e-9)
    assert abs(annealed.total - truth.total) < 4 * error


def test_few_temperatures_are_the_same_fields_again(split):
    few, many = scored(SINGLE._replace(base=FEW), split), scored(SINGLE, split)
    assert len(set(few["test"])) == len(few["test"]) == len(few["train"]) == 3
    assert not any(name.startswith(SUMMED) for name in few)
    assert few["nonzeros"] == many["nonzeros"] > 0
    assert few["test"] == pytest.approx(np.full(3, many["test"][0]), rel=0.2)


def test_the_settings_of_a_model_give_its_own_table_again(split):
    scorer = Scorer(SMALL, 2)
    model = scorer.fitted(MIXTURE, split.train, CHOSEN)
    assert isinstance(model, LPMRFClusters)
    again = scorer.with_table(model, CHOSEN[1], "envelope", 5)
    assert again.log_partition == pytest.approx(model.log_partition, rel=1e-9)
    other = scorer.with_table(model, CHOSEN[1], "smc", 5)
    assert other.log_partition != pytest.approx(model.log_partition, rel=1e-3)
    assert other.topic_word == pytest.approx(model.topic_word, rel=1e-12)


@pytest.mark.parametrize("interaction", [0.05, 2.0])
def test_nats_that_a_partition_function_lacks(interaction):
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


def test_the_same_bits_for_a_seed_whatever_the_threads(split):
    first, again = scored(MIXTURE, split), scored(MIXTURE, split, n_jobs=3)
    assert first.keys() == again.keys()
    for name in first.keys() - {"seconds"}:
        np.testing.assert_array_equal(first[name], again[name])
    assert scored(MIXTURE, split, seed=3)["test"] != first["test"]
