"""What is particular to some models and methods; what all keep to is in `test_contract`."""

import numpy as np
import pytest

from evaluation import certify, log_likelihood, prediction
from models import FixedLengthPoissonMRF, LDATopics, LPMRFClusters, LPMRFTopics
from tests.small_models import documents, model_of


def test_few_effective_samples_are_warned_of(caplog):
    rng = np.random.default_rng(0)
    model = LDATopics(rng.dirichlet(np.full(300, 0.5), 30), np.full(30, 0.1))
    counts = rng.multinomial(150, rng.dirichlet(np.full(30, 0.2), 4) @ model.topic_word)
    with caplog.at_level("WARNING", "evaluation"):
        found = log_likelihood(model, counts, "mean-field-is-1", random_state=0)
    assert found.has_low_ess.any()
    with pytest.deprecated_call(match="is_unsure is now has_low_ess"):
        assert (found.is_unsure == found.has_low_ess).all()
    assert f"{found.has_low_ess.sum()} of 4 documents" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING", "evaluation"):
        found = log_likelihood(model_of(LDATopics), documents(), "mean-field-is-1", random_state=0)
    assert not found.has_low_ess.any()
    assert not caplog.text


def test_a_single_field_has_no_table():
    mrf = FixedLengthPoissonMRF(np.zeros(6), np.zeros((6, 6)))
    with pytest.raises(TypeError, match=r"FixedLengthPoissonMRF.*LPMRFClusters\.of_fields"):
        log_likelihood(mrf, documents())
    mixture = LPMRFClusters.of_fields([mrf], np.zeros((1, 2)), [1.0])
    found = log_likelihood(mixture, documents()).log_likelihood
    np.testing.assert_allclose(found, -documents().sum(axis=1) * np.log(6.0), rtol=1e-12)


@pytest.mark.parametrize("kind", [LPMRFTopics, LPMRFClusters])
def test_what_poisson_mrfs_have_not(kind):
    with pytest.raises(ValueError, match=r"use one of .*exact; a Poisson MRF of L tokens"):
        log_likelihood(model_of(kind), documents(), "completion")
    with pytest.raises(ValueError, match=r"no model of how long .* \"sequence\" or \"bag\""):
        log_likelihood(model_of(kind), documents(), "exact", convention="bag-and-length")
    with pytest.raises(ValueError, match="not smoothed"):
        log_likelihood(model_of(kind), documents(), smoothing=0.1)
    with pytest.raises(TypeError, match=f"no prediction by a {kind.__name__}: a Poisson MRF"):
        prediction(model_of(kind), documents())
    with pytest.raises(TypeError, match=r"by Markov chains only.*short documents.*exact"):
        certify(model_of(kind), documents(), "exact")


@pytest.mark.parametrize("model", [None, "model", object(), np.ones((2, 2)), dict])
def test_no_model(model):
    with pytest.raises(TypeError, match="no likelihood estimator"):
        log_likelihood(model, documents())
