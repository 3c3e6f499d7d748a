from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from models.poisson_mrf.field_fitting import FieldSettings, fit_fields
from models.poisson_mrf.field_state import MODEL_ARRAYS, PoissonMRFState
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.topics import LPMRFClusters
from models.saved import read_arrays, write_arrays
from tests.models.poisson_mrf.planted import random_counts
from tests.models.states import assert_same_state, carried
from tests.small_models import CASES

SETTINGS = FieldSettings(0.05, 1.5, 1e-4, "smc", 4, 4)


def fitted_fields(longest=12):
    parts = [random_counts(seed, rate=1.2) for seed in range(3)]
    return parts, fit_fields(parts, longest, SETTINGS)


def full_state():
    _, fitted = fitted_fields()
    state = PoissonMRFState(np.array([0, 2, 1, 1]), "fields", 2**40 + 1, -12.25, 3, 7, 28, 0.5)
    state.keep_regressions(fitted)
    state.keep_model(LPMRFClusters.of_fields(fitted.fields, fitted.log_partition, [1.0, 2.0, 1.0]))
    return state


def empty_state():
    return PoissonMRFState(np.array([0, 1]), "lda", 0)


@pytest.mark.parametrize("make", [full_state, empty_state])
def test_there_and_back_through_a_file(make, tmp_path):
    state = make()
    named = {name: np.asarray(value) for name, value in vars(state).items()}
    assert set(named) == {each.name for each in fields(state)}
    assert not any(array.dtype.hasobject for array in named.values())
    write_arrays(tmp_path / "state.npz", "test", {}, named)
    _, read = read_arrays(tmp_path / "state.npz", "test")
    again = PoissonMRFState(**{name: v.item() if v.ndim == 0 else v for name, v in read.items()})
    assert_same_state(again, state)
    for name, value in vars(state).items():
        assert type(getattr(again, name)) is type(value), name
        assert np.asarray(getattr(again, name)).dtype == np.asarray(value).dtype, name


def test_the_model_and_the_regressions():
    state = full_state()
    model = state.model(LPMRFClusters)
    assert len(model.edge_topic) > 10
    for name in MODEL_ARRAYS:
        assert_array_equal(getattr(model, name), getattr(state, name))
    _, fitted = fitted_fields()
    again = carried(full_state()).regressions(0.05, 1e-4)
    assert sum(each.coefficients.nnz for each in again) > 10
    for before, after in zip(fitted.regressions, again, strict=True):
        assert_array_equal(after.intercept, before.intercept)
        assert_array_equal(after.coefficients.toarray(), before.coefficients.toarray())
        assert (after.penalty, after.smoothing) == (0.05, 1e-4)
    assert empty_state().regressions(0.05, 1e-4) is None


def test_fields_that_start_from_their_own_regressions_are_the_same():
    parts, fitted = fitted_fields()
    before = full_state().regressions(0.05, 1e-4)
    again = fit_fields(parts, 12, SETTINGS, before=before)
    for one, other in zip(fitted.fields, again.fields, strict=True):
        assert np.abs((one.interactions - other.interactions).toarray()).max() < 1e-4
    words = parts[0].toarray()
    words[:, 2] = 0  # the word that all depended on is gone
    gone = fit_fields([sparse.csr_array(words)], 12, SETTINGS, before=before[:1])
    assert (gone.regressions[0].kkt_residual <= 1e-6).all()
    assert not gone.fields[0].interactions[[2]].nnz


def test_topics_without_tokens_and_tables_of_short_documents():
    fitted = fit_fields([random_counts(), sparse.csr_array((40, 8), dtype=np.int64)], 12, SETTINGS)
    assert_array_equal(fitted.fields[1].word_probability, np.full(8, 1 / 8))
    assert fitted.fields[1].n_interactions == 0
    assert_array_equal(fitted.log_partition[1], np.zeros(13))
    assert fitted.fields[0].n_interactions > 0
    single = sparse.csr_array(np.eye(5, dtype=np.int64).repeat(20, axis=0))
    fitted = fit_fields([single], 1, FieldSettings(1e-3, np.inf, 1e-4, "smc", 4, 4))
    assert fitted.fields[0].n_interactions > 0  # words that never meet repel each other
    assert fitted.log_partition.shape == (1, 3)
    assert fitted.log_partition[0, 2] < -0.1
    assert_array_equal(fitted.log_partition[0, :2], 0.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stage": "lda"}, "belongs to another estimator"),
        ({"assignment": np.zeros(39, dtype=np.int64)}, "belongs to other data"),
        ({"assignment": np.zeros((40, 2), dtype=np.int64)}, "belongs to other data"),
        ({"assignment": np.full(40, 2)}, "topics from 2 to 2, of 2"),
        ({"assignment": np.full(40, -1)}, "topics from -1 to -1, of 2"),
        ({"topic_word": np.ones((3, 8))}, "3 topics and 8 words, n_topics is 2"),
        ({"topic_word": np.ones((2, 9))}, "2 topics and 9 words, .* the data have 8"),
    ],
)
def test_a_state_of_other_data_is_refused(changed, message):
    counts = random_counts()
    model = LPMRFMixture(2, penalty=np.inf, random_state=0).fit(counts)
    state = carried(model.state_)
    model.resume(counts, carried(state))
    for name, value in changed.items():
        setattr(state, name, value)
    with pytest.raises(ValueError, match=message):
        model.resume(counts, state)


@pytest.mark.parametrize("name", ["poisson-mrf-gibbs", "poisson-mrf-moves", "poisson-mrf-mixture"])
def test_rounds_write_to_no_array_of_an_earlier_state(name):
    model = next(each for each in CASES if each.spec.name == name).build()
    references, kept = [], []
    for _ in model.iterate(random_counts()):
        references.append({**vars(model.state_)})
        kept.append({n: np.array(value) for n, value in vars(model.state_).items()})
    assert len({each["stage"] for each in references}) > 1
    for reference, copy in zip(references, kept, strict=True):
        for field, value in reference.items():
            assert_array_equal(value, copy[field], err_msg=field)
