import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln

from models.gibbs.tokens import tokens_of
from models.lda.gibbs_lda import GibbsLDA
from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.topic_matrices import map_assignment
from models.poisson_mrf.topic_model import (
    FIRST_ETA,
    STAGES,
    LPMRFTopicModel,
    alpha_of,
    parts_of_split,
    parts_of_tokens,
)
from tests.models.poisson_mrf.planted import (
    planted_fields,
    planted_pairs,
    planted_topic_model,
    random_counts,
)
from tests.models.poisson_mrf.test_mixture import classic3
from tests.models.states import assert_same_state
from tests.oracles.simulated import block_topics, simulated_documents

QUICK = {"penalty": 0.1, "n_samples": 5, "n_temperatures": 5, "n_iter": 4, "random_state": 0}
SWEEPS = {"n_sweeps": 3, "lda_sweeps": 8}
BOTH = pytest.mark.parametrize("assignments", ["gibbs", "moves"])
ALL = pytest.mark.parametrize("assignments", ["gibbs", "moves", "mixture"])


def mixed_counts(seed=0):
    rng = np.random.default_rng(seed)
    return simulated_documents(block_topics(3, 4), 0.5, 80, 20, rng)[0]


def topic_model(assignments, n_topics=2, **settings):
    """A topic model, or a mixture, "single" one of a single cluster."""
    if assignments in STAGES:
        return LPMRFTopicModel(n_topics, assignments=assignments, **{**QUICK, **SWEEPS, **settings})
    return LPMRFMixture(1 if assignments == "single" else n_topics, **{**QUICK, **settings})


BEFORE = {"single": "", "mixture": "mixture", "moves": "mixture multinomial", "gibbs": "lda"}


def test_the_first_topics_are_those_of_the_online_start():
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.3, (1000, 12)).astype(np.int32))
    lda = {"eta": FIRST_ETA, "learn_priors": "both", "random_state": 0}
    online, anchored = (
        GibbsLDA(2, start=start, **lda).resume(counts, None).state_.topic_of
        for start in ("online", "anchors")
    )
    found = topic_model("gibbs")._first_state(counts, 0).assignment
    assert_array_equal(found, online)
    assert not np.array_equal(found, anchored)


@pytest.mark.parametrize("assignments", BEFORE)
@pytest.mark.parametrize("penalty", [0.1, np.inf])
def test_stages(assignments, penalty):
    expected = [*BEFORE[assignments].split(), *(["fields"] if penalty < 1 else [])] or ["mixture"]
    model = topic_model(assignments, penalty=penalty)
    steps = list(model.iterate(random_counts(rate=1.2)))
    stages = [step.stage for step in steps]
    assert (list(dict.fromkeys(stages)), stages) == (expected, sorted(stages, key=expected.index))
    assert model.state_.stage == "done"
    assert [step.n_rounds for step in steps] == list(range(1, len(steps) + 1))
    assert [step.n_documents for step in steps] == list(range(40, 40 * len(steps) + 1, 40))
    assert model.n_iter_ == len(steps) == steps[-1].n_passes
    assert (len(model.topics_.edge_topic) > 0) == ("fields" in expected)
    if assignments == "gibbs":
        assert stages.count("lda") == 3  # 3, 3 and 2 sweeps
        assert stages.count("fields") == (4 if "fields" in expected else 0)


@pytest.mark.parametrize("seed", range(2))
def test_the_objective_of_multinomials_never_falls(seed):
    counts = mixed_counts(seed)
    model = topic_model("moves", 3, penalty=np.inf, random_state=seed, n_iter=50)
    steps = list(model.iterate(counts))
    stages = ("mixture", "multinomial")
    first, second = ([step.objective for step in steps if step.stage == s] for s in stages)
    assert (np.diff(first) >= 0).all()
    assert (np.diff(second) >= 0).all()
    assert len(second) > 2
    assert second[-1] > second[0] > first[-1]
    mixture = LPMRFMixture(3, penalty=np.inf, random_state=seed, n_iter=50)
    assert first == [step.objective for step in mixture.iterate(counts)]


def test_multinomials_of_topics_are_mean_counts_of_their_shares():
    """And the objective is Σ_k log p(z_k | m_k) of topic matrices that are best for them."""
    counts = mixed_counts()
    model = topic_model("moves", 3, penalty=np.inf, n_iter=50).fit(counts)
    split, topics = model.state_.assignment, model.topics_
    assert_array_equal(split.sum(axis=1), counts.data)
    assert ((split > 0).sum(axis=0) > 50).all()
    rows, objective = np.repeat(np.arange(80), np.diff(counts.indptr)), 0.0
    for k in range(3):
        z = sparse.csr_array((split[:, k], (rows, counts.indices)), shape=counts.shape).toarray()
        means = z[z.sum(axis=1) > 0].mean(axis=0) + 1e-4
        assert_allclose(topics.topic_word[k], means / means.sum(), rtol=1e-9)
        objective += gammaln(z.sum(axis=1) + 1.0).sum() - gammaln(z + 1.0).sum()
        objective += (z @ np.log(topics.topic_word[k])).sum()
    best = map_assignment(topics, counts, split)
    assert_array_equal(best.split, split)
    assert_allclose(model.state_.objective, objective)
    assert_allclose(best.objective.sum(), objective)


@pytest.mark.slow
def test_the_objective_of_fields_never_falls_and_is_that_of_their_matrices():
    counts, _ = planted_topic_model(0, n_docs=120)
    model = topic_model("moves", n_iter=6)
    fields = [step.objective for step in model.iterate(counts) if step.stage == "fields"]
    assert len(fields) > 1
    assert (np.diff(fields) >= 0).all()
    again = map_assignment(model.topics_, counts, model.state_.assignment)
    assert_allclose(again.objective.sum(), fields[-1], rtol=1e-12)


def test_without_interactions_it_is_lda_by_gibbs_sampling():
    counts = random_counts(rate=1.2)
    model = topic_model("gibbs", 3, penalty=np.inf).fit(counts)
    settings = {"learn_priors": "both", "n_iter": 8, "burn_in": 7, "random_state": 0}
    lda = GibbsLDA(3, eta=0.1, topics_from="samples", **settings).fit(counts)
    assert_array_equal(model.topics_.topic_word, lda.topics_.topic_word)
    assert_array_equal(model.topics_.alpha, lda.topics_.alpha)
    assert model.state_.eta == lda.state_.eta[0]
    tokens = tokens_of(counts)
    order = np.lexsort((tokens.word_of, tokens.doc_of))
    assert_array_equal(model.state_.assignment, lda.state_.topic_of[order])


def test_topics_of_blocks_are_found_by_sampling():
    truth = block_topics(3, 4)
    counts, proportions = simulated_documents(truth, 0.3, 150, 40, np.random.default_rng(0))
    model = topic_model("gibbs", 3, lda_sweeps=40, penalty=0.5, n_iter=2).fit(counts)
    match = (model.topics_.topic_word @ truth.T).argmax(axis=0)
    assert sorted(match) == [0, 1, 2]
    assert np.abs(model.transform(counts)[:, match] - proportions).mean() < 0.05


def test_alpha_is_the_most_likely():
    rng, alpha = np.random.default_rng(0), np.array([0.1, 0.5, 2.0])
    lengths = np.array([rng.multinomial(50, rng.dirichlet(alpha)) for _ in range(3000)])
    found = np.full(3, 0.3)
    for _ in range(10):
        found = alpha_of(lengths, found)
    # Standard errors of maximum likelihood are below 3 % of these, as measured over seeds.
    assert_allclose(found, alpha, rtol=0.12)
    assert_allclose(alpha_of(lengths[:, ::-1], found[::-1]), found[::-1], rtol=1e-3)


def planted_and_median(assignments, counts, shares):
    """Of each topic's own words: Φ of the planted pairs, and the median and least of all pairs."""
    sweeps = {"lda_sweeps": 60, "n_sweeps": 10, "n_iter": 3}
    model = topic_model(assignments, length_scale=np.inf, n_samples=20, **sweeps)
    found = model.fit(counts).transform(counts)
    topic_of = (shares.T @ found).argmax(axis=1)
    assert sorted(topic_of) == [0, 1]
    assert np.abs(found[:, topic_of] - shares).mean() < 0.03
    for k, topic in enumerate(topic_of):
        field = model.topics_.fields[topic]
        own = field.interactions.toarray()[8 * k : 8 * k + 8, 8 * k : 8 * k + 8]
        pairs = own[np.triu_indices(8, k=1)]
        yield *planted_pairs(field, k), np.median(pairs), pairs.min()


@pytest.mark.slow
@pytest.mark.parametrize("assignments", ["gibbs", pytest.param("moves", marks=pytest.mark.slow)])
def test_planted_topics_and_dependencies_are_found_again(assignments):
    planted = planted_topic_model(1)
    for attraction, repulsion, median, least in planted_and_median(assignments, *planted):
        assert attraction > median + 0.04
        assert repulsion == least < -0.02


@pytest.mark.slow
@BOTH
def test_planted_pairs_are_like_others_where_there_are_none(assignments):
    """Whose Φ is above 0: lengths of topics vary by more than those of a Poisson distribution."""
    none = [Field(f.node, sparse.csr_array((16, 16))) for f in planted_fields()]
    planted = planted_topic_model(1, fields=none)
    for attraction, repulsion, median, least in planted_and_median(assignments, *planted):
        assert attraction < median + 0.04
        assert repulsion >= least > -0.02


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@BOTH
def test_more_topics_than_there_is_use_for(assignments):
    counts = np.tile([[4, 0, 0], [0, 3, 0], [0, 0, 5]], (4, 1)) + np.eye(12, 3, dtype=int)
    model = topic_model(assignments, 8, n_iter=6).fit(counts)
    assert model.state_.stage == "done"
    topics = model.topics_
    assert np.isfinite(topics.log_partition).all()
    assert_allclose(topics.topic_word.sum(axis=1), 1.0)
    assert_allclose(model.transform(counts).sum(axis=1), 1.0)
    if assignments == "gibbs":
        assert (np.bincount(model.state_.assignment, minlength=8) == 0).any()


@ALL
def test_words_without_tokens(assignments):
    counts = random_counts(rate=1.2).toarray()
    counts[:, 3] = 0
    topics = topic_model(assignments).fit(counts).topics_
    assert (topics.topic_word[:, 3] < 1e-3).all()
    assert (topics.edge_words != 3).all()


@BOTH
@pytest.mark.parametrize("longest", [1, 2])
def test_short_documents(assignments, longest):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(rng.integers(1, longest + 1, 60), np.full(5, 0.2))
    model = topic_model(assignments, penalty=0.01).fit(counts)
    assert model.topics_.log_partition.shape == (2, 3)
    assert_allclose(model.transform(9 * counts).sum(axis=1), 1.0)


@BOTH
@pytest.mark.parametrize("partition", ["smc", pytest.param("envelope", marks=pytest.mark.slow)])
def test_one_topic_and_one_word(assignments, partition):
    counts = random_counts(rate=1.2)
    topics = topic_model(assignments, 1, partition=partition).fit(counts).topics_
    assert_array_equal(topics.transform(counts), np.ones((40, 1)))
    single = LPMRFMixture(1, penalty=0.1, random_state=0).fit(counts).topics_
    phi = [each.fields[0].interactions.toarray() for each in (topics, single)]
    assert phi[0].any()
    assert_allclose(*phi, atol=1e-4)
    of_a_word = topic_model(assignments, 1, partition=partition).fit(counts[:, :1])
    assert_array_equal(of_a_word.topics_.topic_word, [[1.0]])


def test_parts_of_splits_and_of_tokens():
    counts = sparse.csr_array([[2, 0, 3], [0, 0, 0], [0, 1, 0]])
    expected = [[[1, 0, 0], [0, 0, 0], [0, 1, 0]], [[1, 0, 3], [0, 0, 0], [0, 0, 0]]]
    for parts in (
        parts_of_split(counts, np.array([[1, 1], [0, 3], [1, 0]])),
        parts_of_tokens(counts, np.array([1, 0, 1, 1, 1, 0]), 2),
    ):
        for part, z in zip(parts, expected, strict=True):
            assert_array_equal(part.toarray(), z)
            assert part.nnz == np.count_nonzero(z)
    assert counts.nnz == 3


@ALL
def test_what_it_is_given_stays_as_it_is(assignments):
    data = np.array([1.0, 0.0, 2.4, 0.3, 3.0, 1.0])
    counts = sparse.csr_array((data, [0, 1, 2, 0, 1, 2], [0, 3, 4, 6]), shape=(3, 3))
    kept, model = counts.copy(), topic_model(assignments).fit(counts)
    model.transform(counts)
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(counts, name), getattr(kept, name))
    assert_same_state(model.state_, topic_model(assignments).fit([[1, 0, 2], [0, 3, 1]]).state_)


def test_a_state_of_another_kind_or_of_other_data_is_refused():
    counts = random_counts()
    states = {name: topic_model(name).fit(counts).state_ for name in ("gibbs", "moves")}
    for name, other in (("gibbs", "moves"), ("moves", "gibbs")):
        with pytest.raises(ValueError, match="belongs to other data"):
            topic_model(name).resume(counts, states[other])
        with pytest.raises(ValueError, match="belongs to other data"):
            topic_model(name).resume(counts[:30], states[name])
    first = topic_model("gibbs").resume(counts, None).state_
    with pytest.raises(ValueError, match="belongs to another estimator"):
        topic_model("moves").resume(counts, first)


@pytest.mark.shared
@pytest.mark.slow
def test_multinomials_on_classic3():
    train, test = classic3()
    settings = {"penalty": np.inf, "n_iter": 100, "random_state": 0}
    topics = LPMRFTopicModel(3, assignments="moves", **settings).fit(train).topics_
    for part, expected in ((test, 30.0307), (train, 29.4082)):
        found = np.exp(-map_assignment(topics, part).objective.sum() / part.sum())
        assert_allclose(found, expected, rtol=0, atol=1e-3)
