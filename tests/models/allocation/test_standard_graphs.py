from math import lgamma

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln

from models.allocation.cell_counts import CellCounts
from models.allocation.model import AllocationModel as Model
from models.allocation.sequence import log_allocation, log_total_probability

TUCKER, TUCKER_EDGES = Model.tucker((2, 3, 5), (4, 6, 7)), "k1→k2 k1→k3 k2→k3 k1→i1 k2→i2 k3→i3"
LEVELS, BLOCKS = Model.pachinko(7, 5, (2, 3, 4)), Model.mixed_membership(5, 2)
MARKOV, MARKOV_EDGES = Model.hidden_markov(3, 2, 4), "h1→h2 h2→h3 h1→x1 h2→x2 h3→x3"


def arrows(model):
    return {f"{of}→{name}" for name, of_name in model.parents.items() for of in of_name}


@pytest.mark.parametrize(
    ("model", "edges", "visible", "shape", "hidden"),
    [
        (Model.nmf(2, 3, 4), "k→i k→j", "i j", (2, 3), {"k": 4}),
        (Model.lda(2, 3, 4, 0.1, 0.2), "doc→topic topic→word", "doc word", (2, 3), {"topic": 4}),
        (Model.cp((2, 3, 5), 4), "r→i1 r→i2 r→i3", "i1 i2 i3", (2, 3, 5), {"r": 4}),
        (TUCKER, TUCKER_EDGES, "i1 i2 i3", (2, 3, 5), {"k1": 4, "k2": 6, "k3": 7}),
        (Model.tucker([5], [2]), "k1→i1", "i1", (5,), {"k1": 2}),
        (LEVELS, "doc→k1 k1→k2 k2→k3 k3→word", "doc word", (5, 7), {"k1": 2, "k2": 3, "k3": 4}),
        (BLOCKS, "i1→k1 i2→k2 k1→s k2→s", "i1 i2 s", (5, 5, 2), {"k1": 2, "k2": 2}),
        (MARKOV, MARKOV_EDGES, "x1 x2 x3", (4, 4, 4), {"h1": 2, "h2": 2, "h3": 2}),
        (Model.sum_conditioned(2, 3, 4, 5), "j→k k→r j→r k→i r→i", "i r j", (2, 5, 3), {"k": 4}),
        (Model.symmetric_nmf(3, 2), "k→i k→j", "i j", (3, 3), {"k": 2}),
        (Model.complete((2, 3, 4)), "i1→i2 i1→i3 i2→i3", "i1 i2 i3", (2, 3, 4), {}),
    ],
    ids=lambda value: value if isinstance(value, str) and "→" in value else "",
)
def test_graphs(model, edges, visible, shape, hidden):
    assert isinstance(model, Model)
    assert arrows(model) == set(edges.split())
    assert (list(model.visible), model.shape) == (visible.split(), shape)
    assert {name: model.cardinalities[name] for name in model.hidden} == hidden


MAKERS = {
    "nmf": ({"I": 2, "J": 3, "K": 2}, ()),
    "lda": ({"n_docs": 2, "n_words": 3, "n_topics": 2, "alpha": 0.1, "eta": 0.2}, ()),
    "cp": ({"shape": (2, 3), "R": 2}, ("shape",)),
    "tucker": ({"shape": (2, 3), "ranks": (2, 2)}, ("shape", "ranks")),
    "complete": ({"shape": (2, 3)}, ("shape",)),
    "symmetric_nmf": ({"I": 3, "K": 2}, ()),
    "pachinko": ({"n_words": 3, "n_docs": 2, "sizes": (2, 2)}, ("sizes",)),
    "mixed_membership": ({"n_entities": 3, "n_blocks": 2, "n_categories": 2}, ()),
    "hidden_markov": ({"n_steps": 2, "n_states": 2, "n_symbols": 3}, ()),
    "sum_conditioned": ({"I": 2, "J": 2, "K": 2, "R": 3}, ()),
}


def made(name, **changes):
    return getattr(Model, name)(**{**MAKERS[name][0], **changes})


SIZES = [
    (name, argument)
    for name, (arguments, sequences) in MAKERS.items()
    for argument in arguments
    if argument not in (*sequences, "alpha", "eta")
]
SEQUENCES = [(name, argument) for name, (_, sequences) in MAKERS.items() for argument in sequences]


@pytest.mark.parametrize(("name", "argument"), SIZES)
def test_sizes_are_whole_and_positive(name, argument):
    for size in (0, -2):
        with pytest.raises(ValueError, match=f"^{argument} must be at least 1, found {size}$"):
            made(name, **{argument: size})
    for size in (2.5, 2.0, True, "2", None):
        with pytest.raises(TypeError, match=f"^{argument} must be a whole number, found"):
            made(name, **{argument: size})
    assert made(name, **{argument: np.int64(1)}).shape


@pytest.mark.parametrize(("name", "argument"), SEQUENCES)
def test_shapes_are_sequences_of_sizes(name, argument):
    with pytest.raises(ValueError, match=f"^{argument} must have at least one number, found none"):
        made(name, **{argument: ()})
    with pytest.raises(ValueError, match=rf"^{argument}\[1\] must be at least 1, found 0"):
        made(name, **{argument: (2, 0)})
    with pytest.raises(TypeError, match=rf"^{argument}\[0\] must be a whole number, found 2\.5"):
        made(name, **{argument: [2.5, 2]})
    for wrong in (3, None, "23"):
        with pytest.raises(TypeError, match=f"^{argument} must be a sequence of whole numbers"):
            made(name, **{argument: wrong})
    assert made(name, **{argument: np.array([2, 3])}).shape


@pytest.mark.parametrize("name", MAKERS)
def test_a_and_b(name):
    model = made(name, a=3.0, b=0.5)
    assert (model.a, model.b) == (3.0, 0.5)
    assert made(name).b is None
    assert made(name).a == (0.4 if name == "lda" else 1.0)
    for argument in ("a", "b"):
        for wrong in (0, -1.0, np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match=f"^{argument} must be positive and finite"):
                made(name, **{argument: wrong})
        for wrong in ("1", True, [1.0], 1j):
            with pytest.raises(TypeError, match=f"^{argument} must be a number"):
                made(name, **{argument: wrong})


def test_ranks_and_tied_tables():
    with pytest.raises(ValueError, match="one number for each of the 3 axes of shape, found 2"):
        Model.tucker((2, 3, 4), (2, 2))
    model = Model.hidden_markov(4, 2, 3, tied=True)
    assert model.table_groups() == [("h1",), ("h2", "h3", "h4"), ("x1", "x2", "x3", "x4")]
    # one transition is no tie, nor is one emission
    assert Model.hidden_markov(2, 2, 3, tied=True).tied == (("x1", "x2"),)
    assert Model.hidden_markov(1, 2, 3, tied=True).tied == ()
    assert Model.hidden_markov(4, 2, 3).tied == ()
    with pytest.raises(TypeError, match="tied must be True or False, found 'no'"):
        Model.hidden_markov(4, 2, 3, tied="no")


ALPHA, ETA = np.array([0.2, 0.7]), np.array([0.5, 1.0, 0.1, 0.3])


def lda(**settings):
    return Model.lda(3, 4, 2, ALPHA, ETA, **settings)


def test_priors_of_lda():
    model = lda()
    assert model.pseudo_counts("topic").tolist() == [ALPHA.tolist()] * 3
    assert model.pseudo_counts("word").tolist() == [ETA.tolist()] * 2
    assert_allclose(model.pseudo_counts("doc"), [0.9, 0.9, 0.9], rtol=1e-15)
    assert model.a == pytest.approx(2.7, rel=1e-15)
    assert_allclose(lda(a=6.0).pseudo_counts("doc"), [2.0, 2.0, 2.0], rtol=1e-15)
    same = Model.lda(3, 4, 2, 0.5, 0.25)
    assert (same.pseudo_counts("topic") == 0.5).all()
    assert (same.pseudo_counts("word") == 0.25).all()
    assert same.a == 3.0


@pytest.mark.parametrize("name", ["alpha", "eta"])
def test_priors_of_lda_that_are_refused(name):
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"^{name} must be positive and finite"):
            made("lda", **{name: wrong})
    for wrong in ([0.1] * 5, [[0.1, 0.1]], []):
        with pytest.raises(ValueError, match=f"^{name} must be a number or an array of shape"):
            made("lda", **{name: wrong})
    for wrong in ("x", object()):
        with pytest.raises(TypeError, match=f"^{name} must be a number or an array of them"):
            made("lda", **{name: wrong})


def log_joint_of_lda(S):
    """log p(words and topics of tokens in order | lengths) (Griffiths & Steyvers 2004, eqs. 2, 3).
    S (docs, topics, words).
    """
    value = 0.0
    for prior, counts in ((ALPHA, S.sum(axis=2)), (ETA, S.sum(axis=0))):
        for row in counts:
            value += lgamma(prior.sum()) - lgamma(prior.sum() + row.sum())
            value += sum(lgamma(n + p) - lgamma(p) for n, p in zip(row, prior, strict=True))
    return value


def log_of_lengths(model, lengths):
    prior = {"doc": model.pseudo_counts("doc")}
    docs = Model({"doc": ()}, {"doc": 3}, ("doc",), model.a, model.b, prior=prior)
    return log_allocation(docs, CellCounts.of(lengths, docs))


@pytest.mark.parametrize("settings", [{}, {"a": 5.0}, {"a": 0.3, "b": 7.0}, {"b": 0.01}])
def test_given_the_lengths_of_documents_lda_is_lda(settings):
    model, rng = lda(**settings), np.random.default_rng(3)
    for _ in range(5):
        S = rng.poisson(0.8, size=(3, 2, 4))
        lengths, allocation = S.sum(axis=(1, 2)), CellCounts(np.argwhere(S), S[S > 0], S.shape)
        # tokens of a document come in any order
        expected = log_joint_of_lda(S) + gammaln(lengths + 1).sum() - gammaln(S + 1).sum()
        of_lengths = log_of_lengths(model, lengths)
        assert log_allocation(model, allocation) - of_lengths == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("a", [None, 5.0])
def test_lengths_of_documents_are_independent(a):
    model, lengths = lda(a=a, b=0.4), np.array([4, 0, 9])
    expected = stats.nbinom.logpmf(lengths, model.a / 3, 0.4 / 1.4).sum()
    found = log_of_lengths(model, lengths)
    assert found == pytest.approx(expected, rel=1e-11)
    assert log_total_probability(model, 13) > found


def test_with_one_topic_for_all_levels_pachinko_is_independence():
    """Topics of one value change nothing: doc → 1 → 1 → word is NMF of rank 1."""
    X = np.random.default_rng(0).poisson(1.0, size=(3, 4))
    pachinko, nmf = Model.pachinko(4, 3, (1, 1), 2.0, 0.5), Model.nmf(3, 4, 1, 2.0, 0.5)
    one, other = (
        log_allocation(model, CellCounts(np.argwhere(S), S[S > 0], S.shape))
        for model, S in ((pachinko, X[:, None, None, :]), (nmf, X[None]))
    )
    assert one == pytest.approx(other, rel=1e-13)
