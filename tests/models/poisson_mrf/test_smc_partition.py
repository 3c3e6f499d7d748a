import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, logsumexp

from models.poisson_mrf.distribution import FixedLengthPoissonMRF as Field
from models.poisson_mrf.smc_partition import smc_log_weights
from tests.oracles.poisson_mrf import log_partition

FOUR_ERRORS = 4.0
LONGEST = 9
RUNS = 400


def field(kind, half_length=np.inf):
    phi = np.array([[0, 0.3, -0.2, 0], [0.3, 0, 0.25, 0], [-0.2, 0.25, 0, -0.5], [0, 0, -0.5, 0]])
    scale = {"weak": 0.3, "mixed": 1.0, "strong": 2.0, "steep": 5.0}[kind]
    return Field(np.array([0.4, -0.3, 0.9, 0.1]), scale * phi, half_length)


def exact(mrf):
    """(LONGEST + 1,), A_L + log L! of the normalised field."""
    node, phi = mrf.normalised().node, mrf.interactions.toarray()
    lengths = np.arange(LONGEST + 1)
    logs = [log_partition(node, phi, length, mrf.half_length) for length in lengths.tolist()]
    return np.array(logs) + gammaln(lengths + 1)


def t_values(mrf, truth, n_chains):
    """(LONGEST - 1,), of the mean of independent estimates of exp(A_L) L!, L from 2."""
    settings = [{"n_samples": n_chains, "seed": seed} for seed in range(RUNS)]
    runs = [logsumexp(smc_log_weights(mrf, LONGEST, **each), axis=0) for each in settings]
    runs = np.array(runs) - np.log(n_chains)
    ratio = np.exp(runs - truth)[:, 2:]
    return (ratio.mean(axis=0) - 1.0) / (ratio.std(axis=0, ddof=1) / np.sqrt(RUNS))


@pytest.mark.parametrize("half_length", [np.inf, 4.0])
@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("weak", "mixed")), "strong"]
)
def test_mean_weight_is_the_partition_function(kind, half_length):
    mrf = field(kind, half_length)
    assert np.abs(t_values(mrf, exact(mrf), 6)).max() < FOUR_ERRORS


@pytest.mark.slow
@pytest.mark.parametrize("half_length", [6.0, 4.0])
def test_chains_that_were_copied_go_on_as_they_are(half_length):
    """Copied with all that goes with them: else a change of ω would count for others' pairs."""
    mrf = field("steep", half_length)
    log_weights = [smc_log_weights(mrf, LONGEST, n_samples=12, seed=seed) for seed in range(50)]
    copied = [(each[:, 2:-2] == each[:1, 2:-2]).all(axis=0).any() for each in log_weights]
    assert np.mean(copied) > 0.5
    assert np.abs(t_values(mrf, exact(mrf), 12)).max() < FOUR_ERRORS


def test_another_weighting_of_lengths_is_told_apart():
    assert np.abs(t_values(field("mixed"), exact(field("mixed", 12.0)), 6)).max() > 2 * FOUR_ERRORS


def test_chains_are_copied_where_weights_come_apart():
    log_weights = smc_log_weights(field("steep", 8.0), 40, n_samples=25, seed=1)
    copied = (log_weights[:, 1:] == log_weights[:1, 1:]).all(axis=0)
    assert copied[1:].any()  # of one token all weigh 1
    assert not copied[1:].all()


def test_what_weighs_nothing():
    log_weights = smc_log_weights(field("mixed"), 3, n_samples=5, seed=0)
    assert_allclose(log_weights[:, :2], 0.0, atol=1e-12)
    assert log_weights[:, 2].std() > 0
    assert (smc_log_weights(Field(np.zeros(3), np.zeros((3, 3))), 5, n_samples=4) == 0).all()


@pytest.mark.parametrize("longest", [0, 1, 2])
def test_short_tables(longest):
    assert smc_log_weights(field("mixed"), longest, n_samples=3).shape == (3, longest + 1)


def test_threads_change_no_bit():
    mrf = field("strong", 6.0)
    one, two = (smc_log_weights(mrf, 30, n_samples=120, seed=3, n_jobs=n) for n in (1, 2))
    assert_array_equal(one, two)


def test_interactions_that_leave_no_digits_are_refused():
    mrf = Field(np.zeros(2), np.array([[0.0, 50.0], [50.0, 0.0]]))
    with pytest.raises(ValueError, match=r"within ±10 .* found one of 50"):
        smc_log_weights(mrf, 5)
