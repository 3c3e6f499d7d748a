"""Agreement of several models against loops over dictionaries."""

import itertools
import math

import numpy as np
import pytest

from evaluation.topics.agreement import ModelAgreement, model_agreement
from evaluation.topics.rank_overlap import rank_biased_overlap
from models.described.topics import DescribedTopics


def some_models(n, seed=0, n_topics=3):
    """Models whose vocabularies differ in order and in a word."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(8, 0.3), n_topics)
    found = []
    for i in range(n):
        order = rng.permutation(8)[:7]
        weights = rng.dirichlet(np.full(8, 0.5), n_topics) * 0.5 + base[rng.permutation(n_topics)]
        found.append(DescribedTopics.from_weights(weights[:, order], [f"w{w}" for w in order]))
        assert i < n
    return found


def cosine(first, k, second, j):
    a = dict(zip(first.vocabulary, first.topic_word[k], strict=True))
    b = dict(zip(second.vocabulary, second.topic_word[j], strict=True))
    product = sum(a[word] * b.get(word, 0.0) for word in a)
    return product / math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))


def of_pair(first, second, n_words=10, threshold=0.9):
    """Mean best cosine, overlap of partners and share found again, by trying all matchings."""
    size = first.n_topics
    table = [[cosine(first, k, second, j) for j in range(size)] for k in range(size)]
    partner = max(
        itertools.permutations(range(size)), key=lambda p: sum(table[k][p[k]] for k in range(size))
    )
    overlap = [
        rank_biased_overlap(first.words[k][:n_words], second.words[partner[k]][:n_words])
        for k in range(size)
    ]
    found = [table[k][partner[k]] >= threshold for k in range(size)]
    return np.mean([max(row) for row in table]), np.mean(overlap), np.mean(found)


def test_figures_are_means_over_ordered_pairs_and_errors_leave_models_out():
    models = some_models(5)
    found = model_agreement(models, n_words=5, threshold=0.8)
    pairs = {
        (i, j): of_pair(models[i], models[j], 5, 0.8)
        for i, j in itertools.permutations(range(5), 2)
    }
    for place, figure in enumerate((found.cosine, found.rank_biased_overlap, found.share)):
        value = np.mean([each[place] for each in pairs.values()])
        without = [
            np.mean([each[place] for pair, each in pairs.items() if out not in pair])
            for out in range(5)
        ]
        assert figure.value == pytest.approx(value, abs=1e-8)
        error = math.sqrt(4 / 5 * sum((w - np.mean(without)) ** 2 for w in without))
        error *= math.sqrt(0.85)  # what it counts twice
        if place == 2:
            assert figure.reason == "topics are too few for a share of topics: 3, it needs 10"
            continue
        assert figure.standard_error == pytest.approx(error, abs=1e-8)
        assert figure.over == "models"
        low, high = figure.interval()  # Wilson's, which is wider towards the middle
        assert (value - low > high - value) == (value > 0.5)


def test_figures_of_one_model_and_of_its_topics_are_over_the_others():
    models = some_models(3)
    found = model_agreement(models)
    of_others = [of_pair(models[0], models[j])[0] for j in (1, 2)]
    figure = found.of_model(0)
    assert figure.value == pytest.approx(np.mean(of_others))
    assert figure.standard_error == pytest.approx(np.std(of_others, ddof=1) / math.sqrt(2))
    means, errors = found.of_topics(0)
    best = [
        [max(cosine(models[0], k, models[j], i) for i in range(3)) for k in range(3)]
        for j in (1, 2)
    ]
    assert means == pytest.approx(np.mean(best, axis=0), abs=1e-8)
    assert errors == pytest.approx(np.std(best, axis=0, ddof=1) / math.sqrt(2), abs=1e-8)


def test_models_that_are_equal_agree():
    model = some_models(1, n_topics=10)[0]
    found = model_agreement([model] * 5)
    for figure in (found.cosine, found.rank_biased_overlap, found.share):
        assert figure.value == pytest.approx(1.0)
    for figure in (found.cosine, found.rank_biased_overlap):
        assert np.isnan(figure.standard_error)
        assert np.isnan(figure.interval()).all()
        assert figure.reason == "it is the same without any of the models, which is no certainty"
    # Ten pairs of ten topics that are all found do not say that all always are.
    assert found.share.standard_error > 0.01
    low, high = found.share.interval()
    assert (low < 0.97, high) == (True, 1.0)


def test_the_share_of_few_models_has_no_error_but_the_reason():
    found = model_agreement(some_models(5, n_topics=10))
    without = [
        np.mean([found.is_found[i][j] for i in range(5) for j in range(5) if len({i, j, k}) == 3])
        for k in range(5)
    ]
    assert found.share.standard_error == pytest.approx(math.sqrt(0.85 * 4 * np.var(without)))
    of_one = found.of_model(0, "share")  # over the four others
    assert (of_one.is_known, np.isnan(of_one.standard_error)) == (True, True)
    assert of_one.reason == "other models are too few for a share of topics: 4, it needs 5"
    assert np.isfinite(found.of_model(0).standard_error)


def test_models_of_words_alone_are_no_trials_of_topics_found_again():
    model = some_models(1, n_topics=10)[0]
    lists = DescribedTopics.from_words(model.words)
    alone, beside = (model_agreement([model] * 6 + [lists] * n) for n in (0, 3))
    assert alone.of_model(0, "share").trials > 0
    assert beside.of_model(0, "share").trials == alone.of_model(0, "share").trials


def test_cosines_below_zero_have_students_interval():
    rng, words = np.random.default_rng(0), [f"w{w}" for w in range(9)]
    models = [DescribedTopics.from_weights(rng.normal(size=(1, 9)), words) for _ in range(4)]
    figure = model_agreement(models).cosine
    assert figure.value < 0
    low, high = figure.interval()
    assert low < figure.value < high


@pytest.mark.slow
@pytest.mark.parametrize("of_models", [0.4, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("n", [3, 4, 6])
def test_intervals_of_pairs_of_few_models_cover_the_truth(n, of_models):
    """Means of pairs whose variance is this much of models, the rest of pairs."""
    rng, covers = np.random.default_rng(0), []
    nothing = ((np.zeros(1),) * n,) * n
    for _ in range(2000):
        one = rng.normal(0, math.sqrt(of_models / 2), n)
        both = rng.normal(0, math.sqrt(1 - of_models), (n, n))
        pairs = 0.5 + 0.01 * (one[:, None] + one + np.triu(both, 1) + np.triu(both, 1).T)
        rows = tuple(tuple(np.array([value]) for value in row) for row in pairs)
        low, high = ModelAgreement(rows, nothing, nothing).cosine.interval()
        covers.append(low <= 0.5 <= high)
    assert 0.92 <= np.mean(covers) <= 0.98  # 0.93 to 0.97, and two standard errors of 2,000


@pytest.mark.slow
@pytest.mark.parametrize(("concentration", "is_often_1"), [(60, False), (400, True)])
def test_intervals_of_shares_found_again_cover_the_truth(concentration, is_often_1):
    """Six models of ten topics; the jackknife alone often has no variance."""
    truth = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 10)
    vocabulary = [f"w{w}" for w in range(60)]

    def noisy(rng):
        rows = [rng.dirichlet(concentration * rng.uniform(0.2, 1) * row + 1e-3) for row in truth]
        return DescribedTopics.from_weights(rows, vocabulary)

    rng = np.random.default_rng(5)
    true = np.mean([model_agreement([noisy(rng), noisy(rng)]).share.value for _ in range(300)])
    covers, of_one, all_found = [], [], []
    for _ in range(100):
        models = [noisy(rng) for _ in range(6)]
        found = model_agreement(models)
        low, high = found.share.interval()
        covers.append(low <= true <= high)
        low, high = found.of_model(0, "share").interval()
        of_one.append(low <= true <= high)
        all_found.append(found.share.value == 1)
    assert np.mean(covers) >= 0.9  # two standard errors of 100 below 0.95
    assert np.mean(of_one) >= 0.9
    assert (np.mean(all_found) > 0.3) == is_often_1  # the jackknife has no variance then


def test_word_lists_have_overlaps_alone():
    first = DescribedTopics.from_words([["a", "b", "c"], ["x", "y", "z"]])
    second = DescribedTopics.from_words([["x", "z", "y"], ["a", "c", "b"], ["k", "l", "m"]])
    found = model_agreement([first, second])
    forth = (rank_biased_overlap("abc", "acb") + rank_biased_overlap("xyz", "xzy")) / 2
    assert found.of_model(0, "rank_biased_overlap").value == pytest.approx(forth)
    assert found.of_model(1, "rank_biased_overlap").value == pytest.approx(forth * 2 / 3)
    assert not found.cosine.is_known
    assert "weights" in found.cosine.why
    assert found.of_model(0).why == "both models of a pair need weights"
    assert math.isnan(found.rank_biased_overlap.standard_error)  # of two models


def test_refusals():
    with pytest.raises(ValueError, match="at least 2"):
        model_agreement(some_models(1))
    with pytest.raises(ValueError, match="name must be"):
        model_agreement(some_models(2)).of_model(0, "rbo")
