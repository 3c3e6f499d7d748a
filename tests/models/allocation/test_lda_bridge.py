import numpy as np
import pytest
from numpy.testing import assert_allclose

from models import LDATopics
from models.allocation.lda_bridge import is_lda_graph, lda_topics
from models.allocation.model import AllocationModel as Model

SIZES = {"w": 4, "k": 2, "d": 3}
ORIENTATIONS = {
    "both from the topic": {"k": (), "w": ("k",), "d": ("k",)},
    "to the word": {"d": (), "k": ("d",), "w": ("k",)},
    "to the document": {"w": (), "k": ("w",), "d": ("k",)},
}


def model_of(orientation, **settings):
    return Model(ORIENTATIONS[orientation], SIZES, ("d", "w"), 6.0, **settings)


def joint_tables(model, joint):
    """Conditional probability tables of a joint distribution (w, k, d)."""
    axes, tables = "wkd", {}
    for name in model.indices:
        family, letters = model.family(name), "".join(axes)
        marginal = np.einsum(f"{letters}->{''.join(family)}", joint)
        tables[name] = marginal / marginal.sum(axis=-1, keepdims=True)
    return tables


def lda_joint(seed=0):
    rng = np.random.default_rng(seed)
    topic_word, doc_topic = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(2), 3)
    return topic_word, np.einsum("kw,dk,d->wkd", topic_word, doc_topic, rng.dirichlet(np.ones(3)))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_the_word_of_either_orientation(orientation):
    model = model_of(orientation)
    assert is_lda_graph(model)
    topic_word, joint = lda_joint()
    topics = lda_topics(model, joint_tables(model, joint), word="w")
    assert isinstance(topics, LDATopics)
    assert_allclose(topics.topic_word, topic_word, rtol=1e-12)
    assert_allclose(topics.alpha, [1.0, 1.0], rtol=1e-15)  # a / (J K) = 6 / (3 · 2)
    of_topic = joint.sum(axis=0) / joint.sum(axis=(0, 2))[:, None]
    topics = lda_topics(model, joint_tables(model, joint), word="d")
    assert_allclose(topics.topic_word, of_topic, rtol=1e-12)
    assert_allclose(topics.alpha, [0.75, 0.75], rtol=1e-15)  # 6 / (4 · 2)


def uniform(model):
    sizes = model.cardinalities
    return {name: np.full(model.table_shape(name), 1 / sizes[name]) for name in model.indices}


def test_which_index_is_the_word():
    nmf = Model.nmf(5, 3, 2)
    assert lda_topics(nmf, uniform(nmf)).n_words == 5
    lda = Model.lda(3, 7, 2, [0.1, 0.4], 0.2)
    topics = lda_topics(lda, uniform(lda))
    assert (topics.n_words, topics.alpha.tolist()) == (7, [0.1, 0.4])
    pachinko = Model.pachinko(7, 3, (2,))
    assert lda_topics(pachinko, uniform(pachinko)).n_words == 7
    backwards = {"term": (), "z": ("term",), "doc": ("z",)}
    model = Model(backwards, {"term": 6, "z": 2, "doc": 3}, ("doc", "term"))
    assert lda_topics(model, uniform(model)).n_words == 6
    chain = model_of("to the word")
    assert lda_topics(chain, uniform(chain)).n_words == 4
    unclear = model_of("both from the topic")
    with pytest.raises(ValueError, match="which of d and w is the word"):
        lda_topics(unclear, uniform(unclear))
    with pytest.raises(ValueError, match="word must be one of the visible indices d, w, found 'k'"):
        lda_topics(unclear, uniform(unclear), word="k")


NOT_LDA = {
    "the arrows meet in the topic": Model({"w": (), "d": (), "k": ("w", "d")}, SIZES, ("d", "w")),
    "the word is of the document": Model({"k": (), "d": ("k",), "w": ("k", "d")}, SIZES, "dw"),
    "the topic is visible": Model(ORIENTATIONS["to the word"], SIZES, ("d", "k", "w")),
    "the word is hidden": Model(ORIENTATIONS["to the word"], SIZES, ("d", "k")),
    "two are hidden": Model(ORIENTATIONS["to the word"], SIZES, ("d",)),
    "the document is apart": Model({"k": (), "w": ("k",), "d": ()}, SIZES, ("d", "w")),
    "all are apart": Model({"k": (), "w": (), "d": ()}, SIZES, ("d", "w")),
    "the topic is not between": Model({"d": (), "w": ("d",), "k": ("w",)}, SIZES, ("d", "w")),
    "tables are tied": Model.symmetric_nmf(4, 2),
    "three are visible": Model.cp((2, 3, 4), 2),
    "two topics": Model.pachinko(4, 3, (2, 2)),
    "two indices": Model.complete((2, 3)),
}


@pytest.mark.parametrize("reason", NOT_LDA)
def test_other_graphs_are_not_ldas(reason):
    model = NOT_LDA[reason]
    assert not is_lda_graph(model)
    with pytest.raises(ValueError, match=r"graph is not LDA's: .*found "):
        lda_topics(model, uniform(model))


def test_tables_that_are_refused_and_topics_of_no_probability():
    for changes, message in (
        ({"word": None}, "tables must have one of 'word', found doc, topic"),
        ({"word": np.full((3, 2), 0.5)}, r"'word' must have the shape \(2, 3\) of \(topic, word\)"),
        ({"word": np.full((2, 3), 0.5)}, "that of 'word' must sum to 1 over its last axis"),
        ({"word": np.full((2, 3), np.nan)}, "that of 'word' must be of finite, non-negative"),
        ({"word": [[1.5, -0.5, 0.0], [1.0, 0.0, 0.0]]}, "must be of finite, non-negative"),
    ):
        model = Model.lda(2, 3, 2, 0.1, 0.2)
        tables = {**uniform(model), **changes}
        tables = {name: table for name, table in tables.items() if table is not None}
        with pytest.raises(ValueError, match=message):
            lda_topics(model, tables)
    model = model_of("to the document")
    tables = uniform(model) | {"k": np.tile([1.0, 0.0], (4, 1))}
    with pytest.raises(ValueError, match="'k' 1 has probability 0"):
        lda_topics(model, tables, word="w")
    with pytest.raises(ValueError, match="k; k → i; k → j, hidden k, tied i, j"):
        lda_topics(NOT_LDA["tables are tied"], {})


def prior_of(orientation, joint):
    """The prior that all tables have from the same counts (w, k, d) in advance."""
    model = model_of(orientation)
    return {name: np.einsum(f"wkd->{''.join(model.family(name))}", joint) for name in SIZES}


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_alpha_of_priors_that_are_given(orientation):
    joint = np.repeat(np.random.default_rng(1).gamma(1.0, size=(4, 2))[:, :, None], 3, axis=2)
    model = model_of(orientation, prior=prior_of(orientation, joint))
    topics = lda_topics(model, uniform(model), word="w")
    assert_allclose(topics.alpha, joint.sum(axis=0)[:, 0], rtol=1e-12)
    joint = np.random.default_rng(1).gamma(1.0, size=(4, 2, 3))
    model = model_of(orientation, prior=prior_of(orientation, joint))
    with pytest.raises(ValueError, match="values of 'd' have different pseudo-counts of topics"):
        lda_topics(model, uniform(model), word="w")


@pytest.mark.parametrize(
    ("orientation", "table"),
    [("both from the topic", "w"), ("both from the topic", "k"), ("to the document", "k")],
)
def test_priors_that_disagree_have_no_alpha(orientation, table):
    prior = prior_of(orientation, np.ones((4, 2, 3)))
    prior[table] = prior[table] * 2
    model = model_of(orientation, prior=prior)
    with pytest.raises(ValueError, match=r"'k' has other pseudo-counts in the table of '[wk]'"):
        lda_topics(model, uniform(model), word="w")
    # what documents are of has no part in it where topics depend on them
    prior = prior_of("to the word", np.ones((4, 2, 3)))
    prior["d"] = prior["d"] * 2
    free = model_of("to the word", prior=prior)
    assert lda_topics(free, uniform(free)).alpha.tolist() == [4.0, 4.0]
