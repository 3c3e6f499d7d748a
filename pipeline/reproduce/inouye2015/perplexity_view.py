"""Figure 3 of Inouye et al. 2015: perplexities on Classic3 and on Wikipedia."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evaluation.poisson_mrf.field_selection import PENALTIES
from pipeline.errors import UsageError
from pipeline.reproduce.counts import SAMPLE
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, plain
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.claims import findings_of
from pipeline.reproduce.inouye2015.counts import counts_of, split_of
from pipeline.reproduce.inouye2015.figures import draw_likelihood, draw_published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, Cell, Effort
from pipeline.reproduce.inouye2015.perplexity import Perplexities, PerplexitySettings
from pipeline.reproduce.inouye2015.published import ANY_WIKIPEDIA
from pipeline.reproduce.inouye2015.runs import cached_score, cached_selection, runs_of
from pipeline.reproduce.tables import Column, Headline, Table, text, text_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.inouye2015.perplexity import HeldOut
    from pipeline.reproduce.settings import ReproduceSettings

    Floats = NDArray[np.float64]

QUICK_EFFORT: dict[str, Any] = {
    "n_temperatures": 20,
    "round_temperatures": 10,
    "likelihood_temperatures": 30,
    "selection_samples": 50,
    "selection_temperatures": 10,
    "lda_sweeps": 200,
}
QUICK_GRID: dict[str, Any] = {
    "penalties": PENALTIES[7::3],
    "length_scales": (1.0, 1.5, 2.0),
    "patience": 1,
}
TOPICS = {
    ("lpmrf-classic3", "quick"): (3,),
    ("lpmrf-classic3", "full"): (3, 10, 20),
    ("lpmrf-wikipedia", "quick"): (),
    ("lpmrf-wikipedia", "full"): (),
}
"""Numbers of topics; of Wikipedia only single distributions are published."""
WITHOUT = math.inf, 1.0
"""λ and c of multinomials."""
TITLES = {
    "single": "{}",
    "mixture": "{} mixture",
    "topics": "{} topic model",
    "gibbs": "{} topic model, Gibbs sampling",
}
BASES = {MULTINOMIAL: "Multinomial", FIELDS: "LPMRF", FEW: "LPMRF, few temperatures"}


def title_of(cell: Cell) -> str:
    """Return a model's name in tables."""
    if (cell.kind, cell.base) == ("gibbs", MULTINOMIAL):
        return "LDA, Gibbs sampling"
    return TITLES[cell.kind].format(BASES[cell.base])


def protocol(settings: ReproduceSettings, experiment: str, split: HeldOut) -> PerplexitySettings:
    """Return the protocol of a scale; raises UsageError if λ and c are impossible."""
    is_quick = settings.scale == "quick"
    if settings.select == "published" and not split.is_classic3:
        shape, n_tokens = lpmrf_published.SHAPE, lpmrf_published.N_TOKENS
        raise UsageError(
            "--select published: lambda and c were published of Classic3 only, "
            f"{shape[0]:,} documents of {shape[1]:,} words and {n_tokens:,} tokens"
        )
    n_topics = TOPICS[experiment, settings.scale]
    try:
        return PerplexitySettings(
            (settings.topics,) if settings.topics else n_topics,
            Effort(**(QUICK_EFFORT if is_quick else {})),
            **(QUICK_GRID if is_quick else {}),
            given=_given(settings),
            by_published=split.is_classic3
            and (settings.select == "published" or (settings.select == "auto" and is_quick)),
            seed=settings.seed,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _given(settings: ReproduceSettings) -> tuple[float, float] | None:
    penalty, scale = settings.penalty, settings.length_scale
    if penalty is None and scale is None:
        return None
    if penalty is None or scale is None:
        raise UsageError("--penalty and --length-scale belong together: give both or neither")
    for name, value in (("--penalty", penalty), ("--length-scale", scale)):
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be positive and finite, found {value:g}")
    if settings.select != "auto":
        raise UsageError(
            f"--select {settings.select} says where lambda and c come from: leave it out, or "
            "--penalty and --length-scale"
        )
    return penalty, scale


def run(settings: ReproduceSettings, cache: ResultCache, experiment: str) -> Found:
    """Select, fit and score all models."""
    _given(settings)  # at once: counts may have to be downloaded
    corpus = counts_of(settings, experiment)
    split = split_of(corpus)
    wanted = protocol(settings, experiment, split)
    group = runs_of(cache, wanted, split)
    selections, chosen = {}, {}
    for key in dict.fromkeys(cell.chosen_for for cell in wanted.cells):
        source = wanted.source_of(*key)
        if source == "validation":
            found = cached_selection(group, *key, split, wanted, n_jobs=settings.threads)
            selections[key] = found
            chosen[key] = found.penalty, found.length_scale
        else:
            chosen[key] = wanted.given or lpmrf_published.CHOSEN[key]
    scores = {}
    for cell in wanted.cells:
        pair = WITHOUT if cell.base == MULTINOMIAL else chosen[cell.chosen_for]
        scores[cell] = cached_score(group, cell, split, wanted, pair, n_jobs=settings.threads)
    made = Perplexities(experiment, corpus.name, wanted, split, scores, selections)
    return Found(as_json(made), made)


def as_json(found: Perplexities) -> dict[str, Any]:
    """Return a row for each model, paired differences, and selections."""
    split, scores = found.split, found.scores
    return {
        "name": found.name,
        "corpus": {
            "name": found.corpus,
            "is_classic3": split.is_classic3,
            "words": split.train.shape[1],
            "training_documents": split.train.shape[0],
            "training_tokens": int(split.train.sum()),
            "test_documents": split.test.shape[0],
            "test_tokens": int(split.test.sum()),
        },
        "effort": asdict(found.settings.effort),
        "rows": [_row(found, cell) for cell in scores],
        "differences": [
            {
                "first": title_of(each.first),
                "second": title_of(each.second),
                "topics": each.first.n_topics,
                "nats_per_word": plain(each.difference.nats_per_word),
                "standard_error": plain(each.difference.standard_error),
                "p_value": plain(each.difference.p_value),
            }
            for each in found.differences()
        ],
        "selections": [
            {
                "kind": kind,
                "topics": n_topics,
                "penalty": each.penalty,
                "length_scale": each.length_scale,
                "penalties": each.penalties,
                "length_scales": each.length_scales,
                "perplexity": [[plain(value) for value in row] for row in each.perplexity],
                "pairs_of_words": each.n_interactions.tolist(),
            }
            for (kind, n_topics), each in found.selections.items()
        ],
    }


def _row(found: Perplexities, cell: Cell) -> dict[str, Any]:
    score, published = found.scores[cell], found.published(cell)
    summed, likelihood = score.summed, None
    if summed is not None:
        squares = float((summed.standard_error**2).sum())
        likelihood = {
            "method": summed.method,
            "perplexity": plain(summed.perplexity),
            "standard_error": plain(summed.perplexity_standard_error),
            "bag_perplexity": plain(found.bag_perplexity(cell)),
            "nats_per_word": plain(summed.nats_per_word),
            "too_many_nats_per_word": 0.5 * squares / summed.total_tokens,
        }
    of_fields = cell.base != MULTINOMIAL
    figure_3 = lpmrf_published.FIGURE_3[found.name] if cell.kind == "single" else {}
    return {
        "model": title_of(cell),
        "kind": cell.kind,
        "base": cell.base,
        "topics": cell.n_topics,
        "penalty": score.penalty if of_fields else None,
        "length_scale": score.length_scale if of_fields else None,
        "from": found.settings.source_of(*cell.chosen_for) if of_fields else None,
        "nonzeros": score.n_nonzeros,
        "test": float(score.test.mean()),
        "train": float(score.train.mean()),
        "runs": len(score.test),
        "test_standard_deviation": _deviation(score.test),
        "train_standard_deviation": _deviation(score.train),
        "published": None if published is None else {"test": published[0], "train": published[1]},
        "figure_3": figure_3.get(cell.base),
        "likelihood": likelihood,
        "log_partition_too_low_by": score.missing,
        "seconds": score.seconds,
    }


def _deviation(runs: Floats) -> float | None:
    return float(runs.std(ddof=1)) if len(runs) > 1 else None


def tables(result: Any) -> list[Table]:
    """Return the models, their differences, and the selections of λ and c."""
    corpus = result["corpus"]
    models = Table(
        f"Perplexity of {corpus['test_documents']:,} test documents of {corpus['name']}",
        (
            *(Column("model", "model"), Column("K", "topics"), Column("λ", "penalty", ".5f")),
            *(Column("c", "length_scale", "g"), Column("nonzeros", "nonzeros", ",")),
            Column("test", "test", ".4f", group="ours, published measure"),
            Column("training", "train", ".4f", group="ours, published measure"),
            Column("test", "published.test", "g", group="published"),
            Column("training", "published.train", "g", group="published"),
            Column("Figure 3", "figure_3", "g", group="published"),
            Column("of counts", "likelihood.bag_perplexity", ".3f", group="ours, likelihood"),
            Column(
                "in order",
                "likelihood.perplexity",
                ".1f",
                "likelihood.standard_error",
                "ours, likelihood",
            ),
            Column("lack, nats", "log_partition_too_low_by", ".1f", group="ours, likelihood"),
            Column("seconds", "seconds", ".1f"),
        ),
        result["rows"],
        f"{corpus['words']:,} words, {corpus['test_tokens']:,} test tokens; fitted to "
        f"{corpus['training_documents']:,} documents of {corpus['training_tokens']:,} tokens. "
        "Published measure: counts of words, tokens shared out at their best, which is no "
        "likelihood. Likelihood: summed over clusters or topics; ± over documents. Lack: what the "
        "log-partition function is too low by at least; above 0 no figure of the row is of "
        "probabilities that sum to 1.",
        headings=2,
    )
    gains = Table(
        "More nats a word than the other model",
        (
            *(Column("model", "first"), Column("the other", "second"), Column("K", "topics")),
            Column("more nats a word", "nats_per_word", "+.4f", "standard_error"),
        ),
        result["differences"],
        "± over documents, paired; below 0 the first model is the better one.",
        headings=2,
    )
    selections = [
        text_table(
            f"Validation perplexity over λ and c: {each['kind']}, K = {each['topics']}",
            ("λ", *(f"c = {scale:g}" for scale in each["length_scales"])),
            [
                (f"{penalty:.6f}", *(text(value, ".3f") for value in row))
                for penalty, row in zip(each["penalties"], each["perplexity"], strict=True)
            ],
        )
        for each in result["selections"]
    ]
    return [models, *([gains] if result["differences"] else []), *selections]


def headline(result: Any) -> Headline:
    """Return the single models, by the published measure."""
    single = {row["base"]: row for row in result["rows"] if row["kind"] == "single"}
    published = lpmrf_published.FIGURE_3[result["name"]]
    ours = [single[base]["test"] for base in (MULTINOMIAL, FIELDS)]
    theirs = [
        (single[base]["published"] or {}).get("test", published[base])
        for base in (MULTINOMIAL, FIELDS)
    ]
    return Headline(
        f"test perplexity of {result['corpus']['name']}, published measure: multinomial, LPMRF",
        " → ".join(f"{each:.2f}" for each in ours),
        " → ".join(f"{each:g}" for each in theirs),
    )


def _of_classic3(result: Any) -> str:
    corpus = result["corpus"]
    return data_note("Classic3", *([] if corpus["is_classic3"] else [corpus["name"]]))


def _experiment(name: str, where: str, shows: str, data: Callable[[Any], str]) -> Experiment:
    return Experiment(
        name=name,
        where=where,
        shows=shows,
        run=lambda settings, cache: run(settings, cache, name),
        tables=tables,
        headline=headline,
        findings=lambda found: findings_of(found.drawn, title_of),
        figures=(
            Figure(
                "",
                "Figure 3: test perplexity by the published measure",
                lambda figure, _, found: draw_published(figure, found),
            ),
            Figure(
                "-likelihood",
                "Test perplexity by the likelihood",
                lambda figure, _, found: draw_likelihood(figure, found),
            ),
        ),
        data=data,
        # The built-in sample shows that the experiment runs; it decides no claim on the corpus.
        is_compared=lambda result: result["corpus"]["name"] != SAMPLE,
    )


CLASSIC3 = _experiment(
    "lpmrf-classic3",
    "Figure 3, Classic3",
    "Perplexities of multinomials and of LPMRFs: single, mixtures and topic models.",
    _of_classic3,
)
WIKIPEDIA = _experiment(
    "lpmrf-wikipedia",
    "Figure 3, Wikipedia",
    "Perplexities of a single multinomial and of a single LPMRF.",
    lambda result: data_note(ANY_WIKIPEDIA, result["corpus"]["name"]),
)
