import numpy as np
import pytest
from numpy.testing import assert_array_equal

from evaluation import stability
from models import GibbsLDA, GibbsLDAChains, LDATopics, consensus
from models.lda.gibbs_chains_state import seed_of_chain
from tests.models.lda.counts import random_counts
from tests.oracles.simulated import simulated_documents

SETTINGS = {"n_iter": 8, "burn_in": 2, "thinning": 2, "alpha": 0.2, "eta": 0.1}


def test_chains_are_those_of_gibbs_lda_and_topics_their_consensus():
    counts = random_counts()
    found = GibbsLDAChains(3, chains=3, random_state=4, **SETTINGS).fit(counts)
    chains = [
        GibbsLDA(3, random_state=seed_of_chain(4, n), **SETTINGS).fit(counts) for n in range(3)
    ]
    assert chains[0].seed_ == found.seed_ == 4
    assert len({chain.seed_ for chain in chains}) == 3
    expected = consensus(
        [chain.topics_ for chain in chains], [chain.topic_tokens_ for chain in chains]
    )
    for one, other in zip(found.consensus_.models, expected.models, strict=True):
        assert_array_equal(one.topic_word, other.topic_word)
    assert_array_equal(found.topics_.topic_word, expected.topics.topic_word)
    assert_array_equal(found.topics_.alpha, expected.topics.alpha)
    assert int(chains[1].topic_tokens_.sum()) == counts.sum()


def test_a_single_chain_is_its_own_consensus():
    counts = random_counts()
    found = GibbsLDAChains(3, chains=1, random_state=4, **SETTINGS).fit(counts).topics_
    alone = GibbsLDA(3, random_state=4, **SETTINGS).fit(counts).topics_
    assert_array_equal(found.alpha, alone.alpha)
    np.testing.assert_allclose(found.topic_word, alone.topic_word, rtol=1e-12)


def test_a_state_of_other_chains_is_refused():
    counts = random_counts()
    state = GibbsLDAChains(3, chains=2, random_state=0, **SETTINGS).fit(counts).state_
    with pytest.raises(ValueError, match="the state is of 2 chains, and chains is 3"):
        GibbsLDAChains(3, chains=3, **SETTINGS).resume(counts, state)


@pytest.fixture(scope="module")
def planted():
    """Twelve topics, some of them rare, and documents to learn them from and to hold out."""
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.full(150, 0.05), size=12)
    counts, _ = simulated_documents(truth, 0.1, 500, 50, rng)
    return truth, counts[:400], counts[400:]


def test_planted_topics_are_found_again_though_not_by_each_chain(planted):
    truth, train, held_out = planted
    settings = {"n_iter": 40, "alpha": 0.1, "eta": 0.05, "start": "random"}
    model = GibbsLDAChains(12, chains=8, random_state=2, **settings).fit(train)
    planted_topics = [LDATopics(truth, np.ones(12))]
    assert stability(model.topics_, planted_topics).n_found.sum() == 12
    chains = model.consensus_.models
    found = [stability(chain, planted_topics).n_found.sum() for chain in chains]
    assert min(found) < 12
    scores = [
        GibbsLDA(12, random_state=seed_of_chain(2, n), **settings).fit(train).score(held_out)
        for n in range(8)
    ]
    assert model.score(held_out) > np.mean(scores)
