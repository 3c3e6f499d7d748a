"""`reproduce lpmrf-classic3` and `lpmrf-wikipedia`: models, both measures, claims, settings."""

import json
import math
import shlex
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from scipy.special import gammaln, logsumexp
from scipy.stats import multinomial

import pipeline.reproduce.run as command
from evaluation.comparison import paired_difference
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.poisson_mrf import field_selection
from evaluation.poisson_mrf.exact_likelihood import exact
from evaluation.poisson_mrf.exact_partition import exact_log_partition
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.cache.results import ResultCache
from pipeline.errors import Interrupted, UsageError
from pipeline.reproduce import counts as experiment_counts
from pipeline.reproduce.counts import Named
from pipeline.reproduce.experiment import Found
from pipeline.reproduce.inouye2015 import perplexity, published
from pipeline.reproduce.inouye2015.models import (
    FEW,
    FIELDS,
    MULTINOMIAL,
    SUMMED,
    Budget,
    Scorer,
    Variant,
    missing_at_least,
)
from pipeline.reproduce.inouye2015.perplexity import (
    CLASSIC3,
    HeldOut,
    PerplexitySettings,
    as_json,
    counts_of,
    protocol,
    selected,
    split_of,
)
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.trials import group_of
from tests.pipeline.reproduce.support import failing, places, reproduced, without_seconds
from tests.pipeline.support import call, inside
from tests.shared_data import shared_file

pytestmark = pytest.mark.slow

EXPERIMENTS = ("lpmrf-classic3", "lpmrf-wikipedia")
SMALL = Budget(
    n_samples=20,
    n_temperatures=10,
    round_temperatures=5,
    likelihood_temperatures=10,
    n_repeats=3,
    selection_samples=10,
    selection_temperatures=5,
    n_rounds=2,
    n_sweeps=2,
    lda_sweeps=10,
    n_chains=10,
    chain_temperatures=10,
)
CHOSEN = (0.1, 1.5)
GIVEN = ("--penalty", 0.1, "--length-scale", 1.5)
SETTINGS = PerplexitySettings((2,), SMALL, (0.5, 0.1), (1.0, 2.0), seed=2)
SINGLE, MIXTURE = Variant("single", FIELDS, 1), Variant("mixture", FIELDS, 2)
MODELS = {
    "Multinomial",
    "LPMRF",
    "LPMRF, few temperatures",
    "Multinomial mixture",
    "LPMRF mixture",
    "Multinomial topic model",
    "LPMRF topic model",
    "LDA, Gibbs sampling",
    "LPMRF topic model, Gibbs sampling",
}


def documents(n_docs=60, seed=0):
    """Documents of two halves of 10 words, whose first two come together; lengths vary."""
    rng = np.random.default_rng(seed)
    rate = np.repeat([[1.0], [0.1]], 5, axis=1).ravel() * np.ones((n_docs, 10))
    rate[rng.random(n_docs) < 0.5] = rate[0, ::-1]
    rate[:, :2] *= np.exp(rng.standard_normal((n_docs, 1)))
    return sparse.csr_array(rng.poisson(1.5 * rate))


def classic3():
    return sparse.csr_array(sparse.load_npz(shared_file("classic3/bow_3890x1000.npz")))


def split_counts(counts):
    return split_of(Named("x", counts))


@pytest.fixture
def split():
    return split_counts(documents())


def scored(variant, split, seed=2, n_jobs=None, budget=SMALL):
    chosen = (math.inf, 1.5) if variant.base == MULTINOMIAL else CHOSEN
    found = Scorer(budget, seed, n_jobs).score(variant, split.train, split.test, chosen)
    return {name: np.asarray(value) for name, value in found.items()}


def cached(split, settings=SETTINGS):
    return group_of(ResultCache(), perplexity.NAME, settings, perplexity.LEVELS, split=split)


def summed_of(found):
    return LikelihoodEstimate.from_arrays(found, SUMMED)


# --- models and measures --------------------------------------------------------------------------


def test_the_published_split():
    counts = sparse.csr_array(np.diag(np.arange(1, 58)))
    split = split_counts(counts)
    order = np.argsort(np.random.RandomState(1).rand(57))
    assert split.test.toarray().tolist() == counts.toarray()[order[:5]].tolist()
    assert split.train.toarray().tolist() == counts.toarray()[order[5:]].tolist()
    again = split.for_selection
    assert again.train.toarray().tolist() == split.train.toarray()[:47].tolist()
    assert again.test.toarray().tolist() == split.train.toarray()[47:].tolist()
    assert not split.is_classic3
    for few in (np.eye(9), np.eye(10), np.zeros((100, 3))):
        with pytest.raises(UsageError, match="some 20 documents with tokens"):
            split_counts(sparse.csr_array(few))


@pytest.mark.shared
def test_classic3_is_recognised():
    counts = classic3()
    assert split_counts(counts).is_classic3
    assert not split_counts(counts[1:]).is_classic3
    counts.data[0] += 1
    assert not split_counts(counts).is_classic3


@pytest.mark.shared
def test_multinomials_come_out_as_published():
    split = split_counts(classic3())
    budget = replace(SMALL, chain_temperatures=2, n_chains=2)
    for known, theirs in published.PERPLEXITY.items():
        variant = Variant(*known)
        if variant.base == MULTINOMIAL:
            found = scored(variant, split, seed=0, budget=budget)
            assert (found["test"][0], found["train"][0]) == pytest.approx(theirs, abs=1e-3)


def test_both_measures_of_one_multinomial(split):
    found = scored(SINGLE._replace(base=MULTINOMIAL), split)
    train, test = split.train.toarray(), split.test.toarray()
    train = train[train.sum(axis=1) > 0]
    p = train.mean(axis=0) + 1e-4
    p /= p.sum()
    for part, measured in ((test, found["test"]), (train, found["train"])):
        total = sum(multinomial.logpmf(x, x.sum(), p) for x in part)
        assert measured == pytest.approx([np.exp(-total / part.sum())], rel=1e-6)
    assert summed_of(found).total == pytest.approx((test @ np.log(p)).sum(), rel=1e-6)
    assert found["nonzeros"] == 0


def test_both_measures_of_a_mixture(split):
    variant = MIXTURE._replace(base=MULTINOMIAL)
    found = scored(variant, split)
    model = Scorer(SMALL, 2).fitted(variant, split.train, (math.inf, 1.5))
    x = split.test.toarray()
    log_p = x @ np.log(model.topic_word.T)
    orders = np.array([multinomial.logpmf(row, row.sum(), np.full(10, 0.1)) for row in x])
    orders += x.sum(axis=1) * np.log(10)
    at_best = (log_p.max(axis=1) + orders).sum()
    assert found["test"][0] == pytest.approx(np.exp(-at_best / x.sum()))
    summed = logsumexp(log_p + np.log(model.prior / model.prior.sum()), axis=1)
    scored_ones = x.sum(axis=1) > 0
    assert summed_of(found).log_likelihood[scored_ones] == pytest.approx(summed[scored_ones])


@pytest.mark.parametrize(
    ("kind", "base"), [("topics", MULTINOMIAL), ("gibbs", MULTINOMIAL), ("gibbs", FIELDS)]
)
def test_topic_models_are_scored_by_one_method(kind, base, split):
    short = split.train[np.asarray(split.train.sum(axis=1)).ravel() <= 6]
    assert short.sum() > 20
    chosen = (math.inf, 1.5) if base == MULTINOMIAL else CHOSEN
    model = Scorer(SMALL, 2).fitted(Variant(kind, base, 2), split.train, chosen)
    assert isinstance(model, LPMRFTopics)
    assert (len(model.edge_weight) > 0) == (base == FIELDS)
    truth = exact(model, DocumentBlock(short))
    budget = replace(SMALL, n_chains=100, chain_temperatures=40)
    annealed = Scorer(budget, 0).likelihood(model, short)
    assert annealed.method == "annealed-importance-sampling"
    error = np.hypot(annealed.monte_carlo_standard_error, 1e-9)
    assert abs(annealed.total - truth.total) < 4 * error


def test_few_temperatures_are_the_same_fields_again(split):
    few, many = scored(SINGLE._replace(base=FEW), split), scored(SINGLE, split)
    assert len(set(few["test"])) == len(few["test"]) == len(few["train"]) == 3
    assert not any(name.startswith(SUMMED) for name in few)
    assert few["nonzeros"] == many["nonzeros"] > 0
    assert few["test"] == pytest.approx(np.full(3, many["test"][0]), rel=0.2)


def test_the_settings_of_a_model_give_its_own_table_again(split):
    scorer = Scorer(SMALL, 2)
    model = scorer.fitted(MIXTURE, split.train, CHOSEN)
    assert isinstance(model, LPMRFClusters)
    again = scorer.with_table(model, CHOSEN[1], "envelope", 5)
    assert again.log_partition == pytest.approx(model.log_partition, rel=1e-9)
    other = scorer.with_table(model, CHOSEN[1], "smc", 5)
    assert other.log_partition != pytest.approx(model.log_partition, rel=1e-3)
    assert other.topic_word == pytest.approx(model.topic_word, rel=1e-12)


@pytest.mark.parametrize("interaction", [0.05, 2.0])
def test_nats_that_a_partition_function_lacks(interaction):
    phi = np.zeros((4, 4))
    phi[0, 1] = phi[1, 0] = interaction
    field = FixedLengthPoissonMRF(np.log([0.1, 0.1, 0.4, 0.4]), phi, 12.0)
    exact_table = [0.0, *(exact_log_partition(field, n) + gammaln(n + 1.0) for n in range(1, 9))]
    # The true one lacks nothing; one that knows of no interactions does where they are strong.
    true = LPMRFClusters.of_fields([field], [exact_table], [1.0])
    assert missing_at_least(true, 1.5) == 0
    blind = LPMRFClusters.of_fields([field], np.zeros((1, 9)), [1.0])
    missing = missing_at_least(blind, 1.5)
    x = np.array([4, 4, 0, 0])
    term = field.log_weight(x[None])[0] + gammaln(9.0)
    assert missing == pytest.approx(max(term, 0.0))
    assert missing <= exact_table[8]
    assert (missing > 10) == (interaction == 2.0)


def test_the_same_bits_for_a_seed_whatever_the_threads(split):
    first, again = scored(MIXTURE, split), scored(MIXTURE, split, n_jobs=3)
    assert first.keys() == again.keys()
    for name in first.keys() - {"seconds"}:
        np.testing.assert_array_equal(first[name], again[name])
    assert scored(MIXTURE, split, seed=3)["test"] != first["test"]


def test_sources_of_penalties():
    settings = PerplexitySettings()
    assert settings.source_of("single", 1) == "validation"
    known = replace(settings, by_published=True)
    assert known.source_of("mixture", 3) == "published"
    assert known.source_of("mixture", 10) == "validation"
    assert replace(known, given=(0.1, 1.0)).source_of("mixture", 3) == "given"
    chosen_for = {each.chosen_for for each in settings.variants if each.kind == "gibbs"}
    assert chosen_for == {("topics", n_topics) for n_topics in (3, 10, 20)}
    assert set(published.CHOSEN) <= {each.chosen_for for each in settings.variants}
    assert {Variant(*key) for key in published.PERPLEXITY} <= set(settings.variants)


# --- results, claims and figures ------------------------------------------------------------------


@pytest.fixture
def place(tmp_path):
    """A directory with counts.npz."""
    sparse.save_npz(tmp_path / "counts.npz", documents())
    return tmp_path


@pytest.fixture
def quick(monkeypatch):
    """Quicker than quick."""
    small = {"budget": SMALL, "penalties": (0.5, 0.1), "length_scales": (1.0, 2.0)}
    monkeypatch.setattr(perplexity, "QUICK", small)


def run(*argv, cwd):
    return reproduced(*argv, "--counts", "counts.npz", cwd=cwd)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_results_are_printed(experiment, quick, no_pictures, place, capsys):
    result = run(experiment, "--topics", 2, *GIVEN, cwd=place)
    path = place / "reproduce" / experiment / f"{experiment}.json"
    assert json.loads(path.read_text()) == result
    rows = {row["model"]: row for row in result["rows"]}
    assert set(rows) == MODELS
    command.print_reproduction(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"reproduce/{experiment}: {experiment}.json"
    assert all(line == line.rstrip() for line in lines)
    for name, row in rows.items():
        start = f"{name:33s}  {row['topics']:d} "
        line = next(line for line in lines if line.startswith(start))  # differences come later
        assert {f"{row[part]:.4f}" for part in ("test", "train")} <= set(line.split())
    assert rows["Multinomial"]["penalty"] is None
    assert (rows["LPMRF"]["penalty"], rows["LPMRF"]["from"]) == (0.1, "given")
    assert rows["LPMRF, few temperatures"]["runs"] == 3
    assert rows["LPMRF"]["figure_3"] == published.FIGURE_3[experiment][FIELDS]
    assert rows["LPMRF"]["published"] is None  # it is of other documents
    assert result["selections"] == []
    assert len(result["differences"]) == 5


def test_without_topics_there_are_single_distributions(quick, no_pictures, place):
    result = run("lpmrf-wikipedia", "--words", 6, "--documents", 50, cwd=place)
    assert [row["kind"] for row in result["rows"]] == ["single"] * 3
    assert result["corpus"]["words"] == 6
    assert result["corpus"]["training_documents"] + result["corpus"]["test_documents"] == 50
    (found,) = result["selections"]
    i = found["penalties"].index(found["penalty"])
    j = found["length_scales"].index(found["length_scale"])
    assert found["perplexity"][i][j] == np.min(found["perplexity"])
    row = next(row for row in result["rows"] if row["base"] == FIELDS)
    assert (row["penalty"], row["length_scale"]) == (found["penalty"], found["length_scale"])
    assert row["from"] == "validation"


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_pictures_are_written(experiment, quick, place):
    result = run(experiment, *GIVEN, cwd=place)
    assert len(result["pictures"]) == 4
    for name in result["pictures"]:
        content = (place / "reproduce" / experiment / name).read_bytes()
        assert content.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in content


def test_differences(split):
    scores = {variant: scored(variant, split) for variant in SETTINGS.variants}
    for found in scores.values():
        found |= {"penalty": 0.1, "length_scale": 1.5}
    result = as_json("lpmrf-classic3", "x", SETTINGS, split, scores, {})
    single, mixture, topics, gibbs = (each for each in SETTINGS.variants if each.base == FIELDS)
    lda = gibbs._replace(base=MULTINOMIAL)
    pairs = [(each, each._replace(base=MULTINOMIAL)) for each in (single, mixture, topics)]
    pairs += [(topics, lda), (gibbs, lda)]
    assert len(result["differences"]) == len(pairs)
    for row, (first, second) in zip(result["differences"], pairs, strict=True):
        assert (row["first"], row["second"]) == (first.title, second.title)
        expected = paired_difference(summed_of(scores[first]), summed_of(scores[second]))
        assert row["nats_per_word"] == expected.nats_per_word
        assert row["p_value"] == expected.p_value
    row = result["rows"][0]
    assert row["likelihood"]["bag_perplexity"] == pytest.approx(row["test"])


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


def test_a_selected_penalty_at_the_edge_is_named(split):
    found = selected(cached(split), ("single", 1), split, SETTINGS)
    settings, split, scores = made_up(())
    result = as_json("lpmrf-classic3", "x", settings, split, scores, {("single", 1): found})
    assert list(failing(CLASSIC3, result).values()) == [["single, K = 1"]]  # there are but two
    (selection,) = result["selections"]
    selection["penalties"] = (1.0, selection["penalty"], 0.01)
    selection["pairs_of_words"] = [0, 1, 2]
    assert not failing(CLASSIC3, result)


# --- settings and data ----------------------------------------------------------------------------


def test_scales():
    other, known = made_up(())[1], made_up((), 3890)[1]

    def wanted(experiment="lpmrf-classic3", split=known, **settings):
        return protocol(ReproduceSettings(**settings), experiment, split)

    assert wanted(scale="full", seed=7) == PerplexitySettings(seed=7)
    quick = wanted()
    assert (quick.n_topics, quick.by_published, quick.patience) == ((3,), True, 1)
    assert not wanted(split=other).by_published
    assert not wanted(select="validation").by_published
    asked = wanted(scale="full", select="published", topics=10)
    assert (asked.by_published, asked.n_topics) == (True, (10,))
    for scale in ("quick", "full"):
        assert wanted("lpmrf-wikipedia", other, scale=scale).n_topics == ()
    assert wanted(penalty=0.1, length_scale=2.0).given == (0.1, 2.0)


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("lpmrf-classic3 --topics 0", 2, "--topics must be at least 1, found 0"),
        ("lpmrf-classic3 --topics 1", 2, "--topics must be at least 2"),
        ("lpmrf-classic3 --penalty 0.1", 2, "belong together"),
        ("lpmrf-classic3 --length-scale 1", 2, "belong together"),
        ("lpmrf-classic3 --penalty 0 --length-scale 1", 2, "--penalty must be positive"),
        ("lpmrf-classic3 --penalty 1 --length-scale inf", 2, "--length-scale must be positive"),
        ("lpmrf-classic3 --select published", 2, "of Classic3 only, 3,890 documents"),
        (
            "lpmrf-classic3 --select validation --penalty 1 --length-scale 1",
            2,
            "--select validation says where",
        ),
        ("lpmrf-classic3 --words 5", 2, "--words is for lpmrf-wikipedia"),
        ("lpmrf-wikipedia --words 1", 2, "--words must be at least 2, found 1"),
        ("lpmrf-wikipedia --documents 19", 2, "--documents must be at least 20, found 19"),
        ("lpmrf-classic3 --counts counts.npz,few.npz", 2, "expected one file, found 2"),
        ("lpmrf-classic3 --counts few.npz", 2, "few: of 9 documents a tenth is held out"),
        ("lpmrf-classic3 --counts nowhere.npz", 3, "nowhere.npz"),
    ],
)
def test_refusals(argv, code, complaint, place):
    sparse.save_npz(place / "few.npz", documents(9))
    counts = () if "--counts" in argv else ("--counts", "counts.npz")
    outcome = call("reproduce", *shlex.split(argv), *counts, cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


@pytest.mark.parametrize(
    "argv", ["--penalty 0.01", "--penalty -1", "--penalty -1 --length-scale 1"]
)
def test_refused_before_the_sample_is_downloaded(argv, tmp_path, monkeypatch):
    read = mock.Mock()
    monkeypatch.setattr(experiment_counts, "sample", read)
    outcome = call("reproduce", "lpmrf-classic3", *shlex.split(argv), cwd=tmp_path)
    assert (outcome.code, "--penalty" in outcome.error) == (2, True)
    assert not read.called


def test_documents_and_words_of_wikipedia(place):
    def taken(experiment="lpmrf-wikipedia", **settings):
        with inside(place):
            found = counts_of(ReproduceSettings(counts="counts.npz", **settings), experiment)
        assert found.name == "counts"
        return found.counts.toarray()

    assert np.array_equal(taken("lpmrf-classic3"), documents().toarray())
    assert taken().shape == (60, 10)
    part, chosen = taken(words=4, documents=30, seed=1), taken(words=10, documents=30, seed=1)
    assert part.shape == (30, 4)
    assert set(map(tuple, chosen)) <= set(map(tuple, documents().toarray()))
    assert sorted(part.sum(axis=0)) == sorted(chosen.sum(axis=0))[-4:]
    assert not np.array_equal(part, taken(words=4, documents=30, seed=2))


# --- cache ----------------------------------------------------------------------------------------


def test_an_interrupted_command_continues(quick, no_pictures, place):
    argv = ("lpmrf-classic3", "--topics", 2, "--seed", 3)
    whole = run(*argv, "--output", "whole", cwd=place)
    ResultCache().clear()
    n_left = 9  # of 3 times 4 pairs

    def a_table(*args, **settings):
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise Interrupted(15)
        return table(*args, **settings)

    def interrupted():
        parts = ("--counts", "counts.npz", "--output", "parts")
        outcome = call("reproduce", *argv, *parts, "--threads", 1, cwd=place)
        assert outcome.code == 143
        assert "give the same command again" in outcome.err

    table = field_selection.partition_table
    with mock.patch.object(field_selection, "partition_table", a_table):
        interrupted()
    score, done = Scorer.score, []

    def until_the_fourth(self, variant, *args):
        if len(done) == 3:
            raise Interrupted(15)
        done.append(variant)
        return score(self, variant, *args)

    with (
        mock.patch.object(Scorer, "score", until_the_fourth),
        mock.patch.object(field_selection, "partition_table", wraps=table) as tables,
    ):
        interrupted()
    assert tables.call_count == 4 + 2 * 8 - 8  # 4 of one field, 2 of two, were complete
    with (
        mock.patch.object(Scorer, "score", autospec=True, side_effect=score) as rest,
        mock.patch.object(field_selection, "partition_table") as no_tables,
    ):
        again = run(*argv, "--output", "parts", cwd=place)
    assert not no_tables.called
    wanted = PerplexitySettings((2,)).variants
    assert [each.args[1] for each in rest.call_args_list] == wanted[3:]
    del again["path"], whole["path"]
    assert without_seconds(again) == without_seconds(whole)


def test_other_penalties_are_scored_again(quick, no_pictures, place):
    other = ("--penalty", 0.1, "--length-scale", 1.25)
    with mock.patch.object(Scorer, "score", autospec=True, side_effect=Scorer.score) as made:
        first = run("lpmrf-wikipedia", *GIVEN, cwd=place)
        assert made.call_count == 3
        assert run("lpmrf-wikipedia", *GIVEN, cwd=place)["rows"] == first["rows"]
        assert made.call_count == 3
        run("lpmrf-wikipedia", *other, cwd=place)
        assert made.call_count == 5  # multinomials have no penalty


@pytest.mark.parametrize("kind", ["single", "mixture", "topics"])
def test_selection_by_training_documents_alone(kind, split):
    model = kind, 1 if kind == "single" else 2
    found = selected(cached(split), model, split, SETTINGS)
    assert np.isfinite(found.perplexity).all()
    other = replace(split, test=split.test[:1])
    others = selected(cached(other), model, other, SETTINGS)
    assert np.array_equal(others.perplexity, found.perplexity)
    assert found.penalty in SETTINGS.penalties
    assert found.length_scale in SETTINGS.length_scales
    with mock.patch.object(field_selection, "partition_table") as no_tables:
        again = selected(cached(split), model, split, SETTINGS)
    assert not no_tables.called
    assert np.array_equal(again.perplexity, found.perplexity)
    longer = replace(SETTINGS, penalties=(0.5, 0.2, 0.1))
    assert selected(cached(split), model, split, longer).perplexity.shape == (3, 2)


def test_cached_results_depend_on_documents_budget_and_seed(split):
    def key(split=split, **changed):
        return cached(split, replace(SETTINGS, **changed)).key

    assert key(n_topics=(3,), given=(1.0, 1.0)) == key()
    others = [
        key(seed=1),
        key(budget=replace(SMALL, n_samples=21)),
        key(HeldOut(split.train, split.train)),
        key(HeldOut(split.test, split.train)),
    ]
    assert len({*others, key()}) == 5
