"""One step of Hoffman's onlineldavb with a cap and a word budget, restated number by number.

The numbers are of the code published with Aldebakel et al. 2022, run once on four documents.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import psi

from models import OnlineLDA, OnlineLDAState
from models.lda import e_step
from models.lda.bound import document_bound, topic_bound

K, V, D = 2, 6, 100
ALPHA, ETA = 0.1, 0.01
STEP_SIZE = 0.8870137779069569
COUNTS = sparse.csr_array(
    np.array([[2, 1, 0, 0, 3, 0], [0, 0, 1, 4, 0, 0], [1, 0, 1, 0, 0, 2], [0, 1, 0, 2, 1, 1]])
)


def numbers(text):
    return np.array(text.split(), dtype=float)


LAMBDA0 = numbers("""
    1.1751427413211315 0.9508705567396899 0.919962409371817 0.9968728936300447 1.1017539078157685
    1.0578263798801548 1.047968195135641 0.9708016491868723 1.0530637162185295 1.0090853186024682
    1.1707108528452828 1.0121540107260822
""").reshape(2, -1)
GAMMA0 = numbers("""
    0.9921424971703544 0.8587424143955827 1.105144925876208 0.9556641947225595 0.8407543729210465
    1.05108159956263 0.8812145854496544 1.1498608653917959
""").reshape(4, -1)
CAP_100 = (
    numbers("""
    6.0999681501412795 0.10003184985871992 0.10003302407879974 5.0999669759212 0.10003461376556522
    4.099965386234435 0.10003215250386778 5.099967847496132
""").reshape(4, -1),
    numbers("""
    44.49236066586532 22.291669112423318 0.11307705576934929 0.12235580117185468 66.65913379855469
    0.1289432766672938 22.302593858718566 22.293882541131524 44.47827688315797 133.17409680050648
    22.316741475845806 66.64870960605391
""").reshape(2, -1),
    -1246.5996954818381,
)
CAP_5 = (
    numbers("""
    3.876434523908409 2.323565476091591 2.7124006765563817 2.487599323443619 1.5681380995769065
    2.631861900423093 1.535151920430444 3.664848079569556
""").reshape(4, -1),
    numbers("""
    39.21930927271821 19.841128567661414 17.099290573278385 57.70161949031084 47.163778647041454
    21.933968635413564 27.57564525186567 24.744423085893423 27.492063365648928 75.59483311136752
    41.81209662735904 44.84368424730762
""").reshape(2, -1),
    -1384.6144112046577,
)
CAP_1 = (
    numbers("""
    3.492859941320471 2.707140058679529 2.8316216170842994 2.3683783829157004 1.762170955384305
    2.437829044615695 2.0519537809106163 3.148046219089384
""").reshape(4, -1),
    numbers("""
    37.50536814241488 20.85206258323941 18.935816844051796 65.47202694343177 44.81138016838478
    27.31982171286664 29.289586382168988 23.733489070315425 25.655537094875523 67.82442565824661
    44.164495106015714 39.45783116985454
""").reshape(2, -1),
    -1387.8956123577864,
)
"""γ, λ and the bound, by the cap of iterations."""
BUDGET_4_LAMBDA = [
    [44.49236066586532, 22.291669112423318, 0.11307705576934929, 0.12235580117185468, 0.01, 0.01],
    [22.302593858718566, 22.293882541131524, 44.47827688315797, 133.17409680050648, 0.01, 0.01],
]


def one_step(cap, monkeypatch, frozen=()):
    """λ and γ after the step, from both starting points of the original."""
    gamma, infer = np.empty_like(GAMMA0), e_step.infer_documents

    def noting_gamma(*arguments):
        iterations = infer(*arguments)
        gamma[:] = arguments[7]
        return iterations

    monkeypatch.setattr(e_step, "noisy_start", lambda *_: GAMMA0)
    monkeypatch.setattr(e_step, "infer_documents", noting_gamma)
    excess = np.ascontiguousarray(LAMBDA0.T) - ETA
    state = OnlineLDAState(
        excess=excess,
        scale=1.0,
        excess_sum=excess.sum(axis=0),
        alpha=np.full(K, ALPHA),
        eta=np.full(V, ETA),
        frozen=np.isin(np.arange(V), frozen),
        n_batches=0,
        n_documents=0,
        seed=0,
    )
    model = OnlineLDA(
        K,
        alpha=ALPHA,
        eta=ETA,
        batch_size=4,
        max_e_iterations=cap,
        e_tolerance=1e-3,
        learning_decay=0.05,
        learning_offset=10.0,
        n_passes=1,
        random_state=0,
    )
    model.total_documents = D
    model.state_ = state
    model.partial_fit(COUNTS)
    return model.topic_word_dirichlet_, gamma


CAPS = pytest.mark.parametrize(
    ("cap", "golden"), [(100, CAP_100), (5, CAP_5), (1, CAP_1)], ids=["100", "5", "1"]
)


@CAPS
def test_e_step_and_m_step(cap, golden, monkeypatch):
    after, gamma = one_step(cap, monkeypatch)
    assert_allclose(gamma, golden[0], rtol=1e-10)
    assert_allclose(after, golden[1], rtol=1e-10)
    gained = ((after - (1 - STEP_SIZE) * LAMBDA0) / STEP_SIZE - ETA) * COUNTS.shape[0] / D
    assert_allclose(gained.sum(axis=0), COUNTS.sum(axis=0), rtol=1e-12)


def test_step_size():
    model = OnlineLDA(
        K, batch_size=4, learning_decay=0.05, learning_offset=10.0, n_passes=1, random_state=0
    )
    (step,) = model.iterate(COUNTS)
    assert step.step_size == pytest.approx(STEP_SIZE, rel=1e-15)


@CAPS
def test_bound(cap, golden):
    weight = np.ascontiguousarray(np.exp(psi(LAMBDA0) - psi(LAMBDA0.sum(axis=1, keepdims=True))).T)
    documents = document_bound(COUNTS, weight, np.full(K, ALPHA), golden[0]).sum()
    bound = documents * D / COUNTS.shape[0] + topic_bound(LAMBDA0, np.full(V, ETA))
    assert bound == pytest.approx(golden[2], rel=1e-12)


def test_word_budget(monkeypatch):
    after, gamma = one_step(100, monkeypatch, frozen=[5, 4])
    assert_allclose(after, BUDGET_4_LAMBDA, rtol=1e-10)
    assert (after[:, [4, 5]] == ETA).all()
    assert_allclose(gamma, CAP_100[0], rtol=1e-10)
