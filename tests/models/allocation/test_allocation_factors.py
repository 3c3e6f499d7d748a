import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from models.allocation.allocation_factors import AllocationFactors
from models.allocation.cell_counts import CellCounts
from models.allocation.cliques import TableMemoryError
from models.allocation.mean_field import family_counts
from models.allocation.model import AllocationModel as Model
from models.allocation.reachable import UnreachableCellError
from models.allocation.sequence import log_allocation
from models.lda.topics import LDATopics

METHODS = ("vb", "em", "dual-em", "icm", "smc", "annealed")
X = np.array([[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 3, 4]])
GRAPHS = {
    "nmf": (Model.nmf(3, 4, 2), X),
    "cp": (Model.cp((2, 3, 2), 2), np.arange(12).reshape(2, 3, 2) % 4),
    "chain": (Model.pachinko(4, 3, (2, 2)), X),
    "symmetric": (Model.symmetric_nmf(3, 2), X[:, :3] + X[:, :3].T),
    "tied-markov": (Model.hidden_markov(3, 2, 2, tied=True), np.arange(8).reshape(2, 2, 2) % 3),
}


def factors(name, method, **settings):
    model, counts = GRAPHS[name]
    settings = {"n_particles": 60, "n_sweeps": 60, "random_state": 3, "n_starts": 3, **settings}
    return AllocationFactors(model, method, **settings).fit(counts)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_learned(name, method):
    model, counts = GRAPHS[name]
    fitted, total = factors(name, method), np.asarray(counts).sum()
    assert tuple(fitted.tables_) == tuple(fitted.expected_counts_) == model.indices
    for group in model.table_groups():
        pooled = model.pseudo_counts(group[0]) + sum(fitted.expected_counts_[n] for n in group)
        for each in group:
            table = fitted.tables_[each]
            assert table.shape == model.table_shape(each)
            assert_allclose(table.sum(axis=-1), 1.0, rtol=1e-12)
            assert_allclose(table, pooled / pooled.sum(axis=-1, keepdims=True))
            assert fitted.expected_counts_[each].sum() == pytest.approx(total)
    assert fitted.objective_ == fitted.objective_path_[-1]
    assert (np.diff(fitted.objective_path_) >= -1e-11 * abs(fitted.objective_)).all()
    assert fitted.intensity_ == pytest.approx((model.a + total) / (model.a / total + 1))
    assert hasattr(fitted, "sample_") == (method == "smc")


@pytest.mark.parametrize("name", GRAPHS)
def test_reconstruction_sums_the_tables_over_what_is_hidden(name):
    model, counts = GRAPHS[name]
    fitted, wanted = factors(name, "vb"), np.zeros(model.shape)
    for values in product(*(range(model.cardinalities[n]) for n in model.indices)):
        of = dict(zip(model.indices, values, strict=True))
        each = [fitted.tables_[n][tuple(of[m] for m in model.family(n))] for n in model.indices]
        wanted[tuple(of[n] for n in model.visible)] += np.asarray(counts).sum() * np.prod(each)
    assert_allclose(fitted.reconstruction(), wanted, rtol=1e-11)
    cells = np.argwhere(wanted >= 0)[::-1]
    assert_allclose(fitted.reconstruction(cells), wanted.ravel()[::-1], rtol=1e-11)
    some = np.array([[-1] * len(model.shape), [1] + [-1] * (len(model.shape) - 1)])
    assert_allclose(fitted.reconstruction(some), [wanted.sum(), wanted[1].sum()], rtol=1e-11)


def test_reconstruction_of_what_nothing_hidden_has_part_in_of_many_indices_and_of_huge_tensors():
    model = Model(
        {"d": (), "s": ("d",), "k": ("d",), "w": ("k",)}, {"d": 3, "s": 2, "k": 2, "w": 4}, "dsw"
    )
    counts = np.random.default_rng(0).poisson(1.0, model.shape)
    fitted = AllocationFactors(model, random_state=0).fit(counts)
    dense = fitted.reconstruction()
    assert_allclose(fitted.reconstruction(np.argwhere(dense >= 0)), dense.ravel(), rtol=1e-11)
    assert dense.sum() == pytest.approx(counts.sum())
    assert_allclose(fitted.reconstruction([[1, -1, 2]]), [dense[1, :, 2].sum()], rtol=1e-11)
    model = Model.hidden_markov(18, 2, 1)
    fitted = AllocationFactors(model, random_state=0, n_starts=1, n_epochs=3)
    fitted.fit(np.full(model.shape, 5))
    assert_allclose(fitted.reconstruction(), np.full(model.shape, 5.0), rtol=1e-12)
    model = Model.cp((1000, 1000, 1000), 2)
    observed = CellCounts(np.array([[1, 2, 3], [900, 2, 5]]), np.array([3, 2]), model.shape)
    fitted = AllocationFactors(model, random_state=0, n_starts=2).fit(observed)
    with pytest.raises(TableMemoryError, match="name those that are wanted"):
        fitted.reconstruction()
    assert fitted.reconstruction(observed.cells).shape == (2,)
    assert fitted.reconstruction([[-1, -1, -1]])[0] == pytest.approx(5.0)


@pytest.mark.slow
def test_blocks_are_found_again():
    block = np.kron(np.eye(2), np.ones((5, 5)))
    counts = np.random.default_rng(2).poisson(9 * block + 0.5)
    for method in METHODS:
        model, settings = Model.nmf(10, 10, 2, a=4.0), {"random_state": 1, "n_particles": 200}
        settings |= {"n_sweeps": 100}
        fitted = AllocationFactors(model, method, **settings).fit(counts)
        mass = fitted.tables_["i"][:, :5].sum(axis=1)
        assert mass.min() < 0.15, method
        assert mass.max() > 0.85, method


def test_the_tables_of_particles_are_those_of_the_most_probable_allocation():
    fitted = factors("nmf", "smc")
    sample = fitted.sample_
    assert len(sample.allocations) == len(sample.weights) == 60
    best = max(sample.allocations, key=lambda each: log_allocation(fitted.model, each))
    assert_array_equal(
        fitted.expected_counts_["i"], np.einsum("kij->ki", best.dense()).astype(float)
    )


def test_a_seed_fixes_the_bits_whatever_the_threads():
    for method in METHODS:
        one = factors("nmf", method, n_starts=4, n_jobs=1)
        other = factors("nmf", method, n_starts=4, n_jobs=2)
        assert one.objective_path_.tobytes() == other.objective_path_.tobytes()
        assert all(one.tables_[n].tobytes() == other.tables_[n].tobytes() for n in one.tables_)
    drawn = factors("nmf", "vb", random_state=None)
    assert factors("nmf", "vb", random_state=drawn.seed_).objective_ == drawn.objective_


def test_clone_and_pickle_keep_settings_and_model():
    fitted = factors("nmf", "em", n_epochs=7)
    copied = clone(fitted)
    settings, again = fitted.get_params(), copied.get_params()
    model, same = settings.pop("model"), again.pop("model")
    assert again == settings
    for name in ("parents", "cardinalities", "a"):
        assert getattr(same, name) == getattr(model, name)
    pickled = pickle.loads(pickle.dumps(fitted))
    assert all((pickled.tables_[name] == table).all() for name, table in fitted.tables_.items())
    assert not hasattr(copied, "tables_")
    assert copied.set_params(n_epochs=9).n_epochs == 9


def test_counts_in_every_form():
    model = Model.nmf(3, 4, 2)
    fitted = [
        AllocationFactors(model, random_state=0).fit(form).objective_
        for form in (X, sparse.csr_array(X), CellCounts.of(X, model), X.astype(float))
    ]
    assert len(set(fitted)) == 1


def test_topics_where_the_graph_is_that_of_lda():
    for model in (Model.lda(3, 4, 2, 0.5, 0.1), Model.nmf(3, 4, 2)):
        fitted = AllocationFactors(model, random_state=0).fit(X)
        assert isinstance(fitted.topics_, LDATopics)
        words = fitted.tables_["word" if "word" in fitted.tables_ else "i"]
        assert_allclose(fitted.topics_.topic_word, words, rtol=1e-12)
    with pytest.raises(ValueError, match="LDA"):
        _ = factors("cp", "vb").topics_


def test_missing_values_are_allocated_too():
    model = Model.nmf(3, 4, 2)
    observed = CellCounts(np.array([[0, 1], [2, -1], [-1, 3]]), np.array([4, 2, 3]), (3, 4))
    for method in METHODS:
        fitted = AllocationFactors(model, method, random_state=0, n_particles=50).fit(observed)
        assert fitted.expected_counts_["i"].sum() == pytest.approx(9.0)
        assert fitted.expected_counts_["j"][:, 3].sum() >= 3.0 - 1e-12


@pytest.mark.parametrize("n_starts", [1, 5])
def test_annealed_tables_of_no_tokens_are_the_prior(n_starts):
    model = Model.nmf(3, 4, 2)
    fitted = AllocationFactors(model, "annealed", n_starts=n_starts, n_sweeps=2, random_state=0)
    fitted.fit(np.zeros((3, 4), dtype=int))
    assert_allclose(fitted.tables_["j"], 0.25)


def test_annealed_tables_that_do_not_fit_are_refused():
    model = Model.nmf(3, 3, 10**6)
    with pytest.raises(TableMemoryError, match="take fewer modes or threads"):
        AllocationFactors(model, "annealed", n_starts=1).fit(np.eye(3, dtype=int))


def test_what_is_refused(monkeypatch):
    for settings, error, words in (
        ({"method": "gibbs"}, ValueError, "method must be one of"),
        ({"n_starts": 0}, ValueError, "n_starts must be at least 1"),
        ({"n_epochs": 2.5}, TypeError, "n_epochs must be a whole number"),
        ({"n_particles": True}, TypeError, "n_particles must be a whole number"),
        ({"tolerance": -1.0}, ValueError, "tolerance must not be negative"),
        ({"tolerance": "small"}, TypeError, "tolerance must be a number"),
        ({"n_jobs": 0}, ValueError, "n_jobs = 0"),
        ({"random_state": -1}, ValueError, "seed"),
    ):
        with pytest.raises(error, match=words):
            AllocationFactors(Model.nmf(3, 4, 2), **settings).fit(X)
    model = Model.nmf(3, 4, 2)
    estimator = AllocationFactors(model, random_state=0)
    with pytest.raises(NotFittedError):
        estimator.reconstruction()
    with pytest.raises(ValueError, match="shape"):
        estimator.fit(X.T)
    with pytest.raises(ValueError, match="negative"):
        estimator.fit(-X)
    prior = {"k": [1.0, 1.0], "i": [[1.0, 0.0, 1.0]] * 2, "j": np.ones((2, 4))}
    barred = Model(model.parents, model.cardinalities, "ij", prior=prior)
    for method in METHODS:
        with pytest.raises(UnreachableCellError, match="i = 1, j = 0"):
            AllocationFactors(barred, method, random_state=0, n_particles=10).fit(X)
    estimator.fit(X)
    for cells, words in (
        ([[0]], "must be whole numbers"),
        ([[0.5, 1.0]], "must be whole numbers"),
        ([[0, 4]], "within the shape"),
        ([[-2, 0]], "within the shape"),
    ):
        with pytest.raises(ValueError, match=words):
            estimator.reconstruction(cells)
    monkeypatch.setattr(family_counts, "MAX_TABLE_MEMORY", 100)
    with pytest.raises(TableMemoryError, match="'j'"):
        estimator.fit(X)
