"""Claims and bars of Figure 3, from made-up scores."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

from evaluation.estimate import LikelihoodEstimate
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, SUMMED, Variant
from pipeline.reproduce.inouye2015.perplexity import CLASSIC3, HeldOut, PerplexitySettings, as_json
from tests.pipeline.reproduce.inouye2015.small_models import SINGLE
from tests.pipeline.reproduce.support import failing, places

pytestmark = pytest.mark.slow


def made_up(n_topics, n_docs=60):
    """Return settings, split and scores; of 3,890 documents the published perplexities."""
    is_classic3 = n_docs == 3890
    settings = PerplexitySettings(n_topics, by_published=is_classic3)
    counts = np.zeros(published.SHAPE if is_classic3 else (n_docs, 5), dtype=np.int64)
    counts[:, 0] = 48
    counts[0, 1] += published.N_TOKENS - counts.sum() if is_classic3 else 0
    n_test = n_docs // 10
    split = HeldOut(sparse.csr_array(counts[n_test:]), sparse.csr_array(counts[:n_test]))
    rng = np.random.default_rng(0)
    tokens = np.asarray(split.test.sum(axis=1)).ravel()
    scores = {}
    for variant in settings.variants:
        is_field = variant.base != MULTINOMIAL
        known = variant._replace(base=FIELDS if is_field else MULTINOMIAL)
        test, train = published.PERPLEXITY.get(known, (29.0 - 3 * is_field, 25.0))
        if variant == SINGLE:
            test, train = test - 0.2, train - 0.2
        gain = -tokens * (5.0 - 0.1 * is_field) + rng.normal(0, 1e-3, len(tokens))
        summed = LikelihoodEstimate(
            gain, np.zeros(len(tokens)), tokens, "exact", "sequence", "exact"
        )
        arrays = {} if variant.base == FEW else summed.to_arrays(SUMMED)
        given = {"missing": 0.0, "seconds": 1.0, "penalty": 0.1, "length_scale": 1.0}
        means = {"test": np.array([test]), "train": np.array([train])}
        scores[variant] = {**arrays, **given, **means, "nonzeros": 78_400 * is_field}
    return settings, split, scores


def result_of(settings, split, scores):
    return as_json("lpmrf-classic3", "made up", settings, split, scores, {})


@pytest.mark.parametrize("n_topics", [(), (3,), (3, 10, 20)])
@pytest.mark.parametrize("n_docs", [60, 3890])
def test_figures(n_topics, n_docs):
    drawn = CLASSIC3.draw(Found(result_of(*made_up(n_topics, n_docs))))
    assert list(drawn) == ["lpmrf-classic3", "lpmrf-classic3-likelihood"]
    for name, draw in drawn.items():
        figure = Figure()
        draw(figure)
        n_bars = [len(axes.patches) for axes in figure.axes]
        n_single = 2 if name.endswith("likelihood") else 3
        assert n_bars == [n_single, *([6 * len(n_topics)] if n_topics else [])]
        if n_topics and not name.endswith("likelihood"):
            marks = [len(axes.lines) for axes in figure.axes]
            assert marks == ([3, 4] if n_docs == 3890 else [2, 0])


def test_claims_hold_for_the_published_figures():
    good = result_of(*made_up((3, 10), 3890))
    assert not failing(CLASSIC3, good)
    assert len(places(CLASSIC3, good)) == 17
    assert len(places(CLASSIC3, result_of(*made_up((), 60)))) == 4


MIXTURE_3 = Variant("mixture", FIELDS, 3)
LDA_10 = Variant("gibbs", MULTINOMIAL, 10)


@pytest.mark.parametrize(
    ("variant", "changed", "n_failed", "part"),
    [
        (SINGLE._replace(base=MULTINOMIAL), {"test": [47.35]}, 1, "Multinomials as publ"),
        (SINGLE, {"nonzeros": 70_000}, 1, "nonzeros as published"),
        (SINGLE, {"test": [33.9]}, 1, "with fewer temperatures"),
        (MIXTURE_3, {"train": [22.5]}, 1, "as published or better"),
        (MIXTURE_3, {"test": [31.0]}, 2, "below Multinomial"),
        (LDA_10, {"test": [20.0]}, 1, "below LDA"),
        (MIXTURE_3, {"missing": 100.0}, 1, "no lower than the term of one document"),
        (MIXTURE_3, {"factor": 1.03}, 1, "LPMRF mixture, K = 3: likelier"),
    ],
)
def test_claims_name_the_models_that_fail(variant, changed, n_failed, part):
    settings, split, scores = made_up((3, 10), 3890)
    factor = changed.pop("factor", 1.0)
    scores[variant] |= {name: np.asarray(value) for name, value in changed.items()}
    scores[variant][SUMMED + "log_likelihood"] *= factor
    failed = failing(CLASSIC3, result_of(settings, split, scores))
    assert len(failed) == n_failed
    assert any(part in claim for claim in failed)
