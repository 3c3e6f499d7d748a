"""Inouye et al. 2015, Figure 3: perplexity of models of Poisson MRFs and of multinomials.

A single distribution, mixtures, and topic models, of multinomials and of fixed-length Poisson MRFs,
are fitted to nine tenths of the documents and scored on the rest; LDA by Gibbs sampling, and topic
models of Poisson MRFs by Gibbs sampling, are beside them. Fitting and scores are in `models`.
"""

import json
import math
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from evaluation.comparison import paired_difference
from evaluation.convention import in_convention
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.poisson_mrf import field_selection
from evaluation.poisson_mrf.field_selection import FieldSelection
from models.poisson_mrf.field_fitting import FieldSettings
from pipeline.cache.results import ResultGroup
from pipeline.errors import UsageError
from pipeline.progress import Progress
from pipeline.reproduce.counts import Counts, Named, draw_rows, most_frequent_words, one_corpus
from pipeline.reproduce.experiment import SAMPLE, Experiment, Figure, Found, data_note, plain
from pipeline.reproduce.inouye2015 import figure_3, models, published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, Budget, Scorer, Variant
from pipeline.reproduce.inouye2015.published import FOLD, authors_split
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.trials import group_of, run_trials, scaled

NAME = "lpmrf-perplexity"  # Name of both experiments in the cache
WORDS = 5000  # Most frequent words of Wikipedia that are taken
QUICK_DOCUMENTS = 5000
QUICK: dict[str, Any] = {
    "budget": Budget(
        n_temperatures=20,
        round_temperatures=10,
        likelihood_temperatures=30,
        selection_samples=50,
        selection_temperatures=10,
        lda_sweeps=200,
    ),
    "penalties": field_selection.PENALTIES[7::3],
    "length_scales": (1.0, 1.5, 2.0),
    "patience": 1,
}
# Numbers of topics; of Wikipedia only single distributions are published
TOPICS = {"lpmrf-classic3": {"quick": (3,), "full": (3, 10, 20)}}
SELECTION = ("penalty", "length_scale", "penalties", "length_scales", "perplexity")
# Settings that only say which models and which λ and c are tried
LEVELS = ("n_topics", "penalties", "length_scales", "patience", "given", "by_published")


@dataclass(frozen=True)
class PerplexitySettings:
    """Models, grid of λ and c, and budget; the defaults are the paper's."""

    n_topics: tuple[int, ...] = (3, 10, 20)  # Topics of mixtures and topic models
    budget: Budget = field(default_factory=Budget)
    penalties: tuple[float, ...] = field_selection.PENALTIES
    length_scales: tuple[float, ...] = field_selection.LENGTH_SCALES
    patience: int | None = None  # Penalties without improvement before smaller ones are left out
    given: tuple[float, float] | None = None  # λ and c of all fields; selected if None
    by_published: bool = False  # Whether the authors' λ and c are taken, known of Classic3 only
    seed: int = 0

    @property
    def variants(self) -> list[Variant]:
        """All models."""
        of_topics = product(("mixture", "topics", "gibbs"), self.n_topics, (MULTINOMIAL, FIELDS))
        return [
            *(Variant("single", base, 1) for base in (MULTINOMIAL, FIELDS, FEW)),
            *(Variant(kind, base, n_topics) for kind, n_topics, base in of_topics),
        ]

    def source_of(self, kind: str, n_topics: int) -> str:
        """Source of λ and c of fields: "given", "published" or "validation"."""
        if self.given is not None:
            return "given"
        known = self.by_published and (kind, n_topics) in published.CHOSEN
        return "published" if known else "validation"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Training and test documents."""

    train: Counts
    test: Counts

    @property
    def is_classic3(self) -> bool:
        """Whether these are the documents that figures were published of."""
        shape = self.train.shape[0] + self.test.shape[0], self.train.shape[1]
        n_tokens = int(self.train.sum() + self.test.sum())
        return (shape, n_tokens) == (published.SHAPE, published.N_TOKENS)

    @property
    def for_selection(self) -> "HeldOut":
        """The last tenth of the training documents as test documents, and the rest."""
        first = self.train.shape[0] - self.train.shape[0] // FOLD
        return HeldOut(self.train[:first], self.train[first:])


def counts_of(settings: ReproduceSettings, experiment: str) -> Named:
    """Return the counts of an experiment; for `lpmrf-wikipedia` a part of them. The part is
    documents that are drawn by the seed, and their most frequent words. Raises UsageError if there
    are several files; else as `corpora_of`.
    """
    corpus = one_corpus(settings, experiment)
    counts = corpus.counts
    if experiment == "lpmrf-wikipedia":
        by_default = QUICK_DOCUMENTS if settings.scale == "quick" else counts.shape[0]
        n_documents = settings.documents or by_default
        rows = draw_rows(np.arange(counts.shape[0]), n_documents, settings.seed)
        counts = most_frequent_words(counts[rows], settings.words or WORDS)
    return corpus._replace(counts=counts)


def split_of(corpus: Named) -> HeldOut:
    """Return the authors' split; raises UsageError if some part would have no token."""
    split = HeldOut(*authors_split(corpus.counts))
    parts = split.for_selection
    if min(split.test.nnz, parts.train.nnz, parts.test.nnz) == 0:
        raise UsageError(
            f"{corpus.name}: of {corpus.counts.shape[0]} documents a tenth is held out, and of the "
            "rest a tenth to select by, and one of these parts has no token: give some 20 "
            "documents with tokens at least"
        )
    return split


def protocol(settings: ReproduceSettings, experiment: str, split: HeldOut) -> PerplexitySettings:
    """Return the protocol of a scale; raises UsageError if a setting is out of its range."""
    is_published, is_auto = (settings.select == each for each in ("published", "auto"))
    if is_published and not split.is_classic3:
        n_docs, n_words = published.SHAPE
        raise UsageError(
            "--select published: lambda and c were published of Classic3 only, "
            f"{n_docs:,} documents of {n_words:,} words and {published.N_TOKENS:,} tokens"
        )
    if settings.topics == 1:
        raise UsageError("--topics must be at least 2: single distributions are always scored")
    is_published |= is_auto and settings.scale == "quick"
    by_default = TOPICS.get(experiment, {}).get(settings.scale, ())
    asked: dict[str, Any] = {"given": _given(settings), "n_topics": by_default}
    if settings.topics:
        asked["n_topics"] = (settings.topics,)
    asked["by_published"] = split.is_classic3 and is_published
    return scaled(PerplexitySettings(), settings, QUICK, **asked)


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


def run(settings: ReproduceSettings, experiment: str) -> Found:
    """Select λ and c, fit and score all models."""
    _given(settings)  # at once: counts may have to be downloaded
    corpus = counts_of(settings, experiment)
    split = split_of(corpus)
    wanted, n_jobs = protocol(settings, experiment, split), settings.threads
    group = group_of(NAME, wanted, LEVELS, split=split)
    selections, chosen = {}, {}
    for key in dict.fromkeys(variant.chosen_for for variant in wanted.variants):
        if wanted.source_of(*key) == "validation":
            found = selections[key] = selected(group, key, split, wanted, n_jobs)
            chosen[key] = found.penalty, found.length_scale
        else:
            chosen[key] = wanted.given or published.CHOSEN[key]

    pairs = {
        variant: (math.inf, 1.0) if variant.base == MULTINOMIAL else chosen[variant.chosen_for]
        for variant in wanted.variants
    }
    scorer = Scorer(wanted.budget, wanted.seed, n_jobs)

    def compute(kind: str, base: str, n_topics: int, *_: str) -> dict[str, Any]:
        variant = Variant(kind, base, n_topics)
        penalty, length_scale = pairs[variant]
        found = scorer.score(variant, split.train, split.test, pairs[variant])
        return found | {"penalty": penalty, "length_scale": length_scale}

    keys = [(*variant, *map(repr, pair)) for variant, pair in pairs.items()]
    scored = run_trials(group, keys, compute, f"{corpus.name}: scoring", "models")
    scores = dict(zip(pairs, scored.values(), strict=True))
    return Found(as_json(experiment, corpus.name, wanted, split, scores, selections))


def selected(
    group: ResultGroup,
    model: tuple[str, int],
    split: HeldOut,
    settings: PerplexitySettings,
    n_jobs: int | None = None,
) -> FieldSelection:
    """Return the validation perplexities of a kind of model and its number of topics. Cached pairs
    of λ and c are not tried again. All regressions are computed again, as each starts from the one
    before.
    """
    kind, n_topics = model
    grid = settings.penalties, settings.length_scales
    name = f"selection of {kind}, {n_topics} topics, on {json.dumps(grid)}"
    known = group.get(name, lambda arrays: arrays["perplexity"])
    table = np.full(tuple(map(len, grid)), np.nan) if known is None else known
    parts, shares, budget = split.for_selection, None, settings.budget
    common: dict[str, Any] = {"seed": settings.seed, "n_jobs": n_jobs}
    if kind != "single":
        assignments = "mixture" if kind == "mixture" else "moves"
        shares = field_selection.multinomial_shares(parts.train, n_topics, assignments, **common)
    effort = budget.selection_samples, budget.selection_temperatures
    with Progress(f"{kind}, K = {n_topics}: selecting", table.size, "pairs") as progress:

        def keep(i: int, j: int, perplexity: float) -> None:
            if np.isnan(table[i, j]):
                table[i, j] = perplexity
                group.put(name, {"perplexity": table})
            progress.update(1)

        common |= {"shares": shares, "patience": settings.patience, "known": table.copy()}
        common["effort"] = FieldSettings(math.nan, math.nan, models.SMOOTHING, "envelope", *effort)
        return field_selection.select_fields(parts.train, parts.test, *grid, on_pair=keep, **common)


def as_json(
    name: str,
    corpus: str,
    settings: PerplexitySettings,
    split: HeldOut,
    scores: dict[Variant, dict[str, Any]],
    selections: dict[tuple[str, int], FieldSelection],
) -> dict[str, Any]:
    """Return a row for each model, paired differences, and selections."""
    about = {"name": corpus, "is_classic3": split.is_classic3, "words": split.train.shape[1]}
    for part, counts in (("training", split.train), ("test", split.test)):
        about |= {f"{part}_documents": counts.shape[0], f"{part}_tokens": int(counts.sum())}
    summed = {}
    for variant, found in scores.items():
        if variant.base != FEW:
            arrays = {field: np.asarray(each) for field, each in found.items()}
            summed[variant] = LikelihoodEstimate.from_arrays(arrays, models.SUMMED)

    def row_of(variant: Variant, found: dict[str, Any]) -> dict[str, Any]:
        kind, base, n_topics = variant
        is_field = base != MULTINOMIAL
        known = (kind, FIELDS if is_field else MULTINOMIAL, n_topics)
        theirs: Any = published.PERPLEXITY.get(known) if split.is_classic3 else None
        n_runs = len(found["test"])
        row: dict[str, Any] = {"model": variant.title, "kind": kind, "base": base}
        for given in ("penalty", "length_scale"):
            row[given] = found[given] if is_field else None
        for part in ("test", "train"):
            row[part] = found[part].mean()
            row[f"{part}_standard_deviation"] = found[part].std(ddof=1) if n_runs > 1 else None
        row |= {"topics": n_topics, "runs": n_runs}
        row |= {"nonzeros": found["nonzeros"], "seconds": found["seconds"]}
        row |= {
            "from": settings.source_of(*variant.chosen_for) if is_field else None,
            "published": theirs and dict(zip(("test", "train"), theirs, strict=True)),
            "figure_3": published.FIGURE_3[name].get(base) if kind == "single" else None,
            "likelihood": None if base == FEW else _likelihood(summed[variant], split.test),
            "log_partition_too_low_by": found["missing"],
        }
        return {key: plain(value) for key, value in row.items()}

    differences = []
    for first in (variant for variant in scores if variant.base == FIELDS):
        for kind in dict.fromkeys((first.kind, "gibbs" if first.kind == "topics" else first.kind)):
            second = Variant(kind, MULTINOMIAL, first.n_topics)
            row = {"first": first.title, "second": second.title, "topics": first.n_topics}
            gain = paired_difference(summed[first], summed[second])
            differences.append(row | _fields(gain, "nats_per_word", "standard_error", "p_value"))
    tried = [
        {"kind": kind, "topics": n_topics, "pairs_of_words": plain(each.n_interactions)}
        | _fields(each, *SELECTION)
        for (kind, n_topics), each in selections.items()
    ]
    rows = [row_of(*each) for each in scores.items()]
    of_models = {"rows": rows, "differences": differences, "selections": tried}
    return {"name": name, "corpus": about, "effort": asdict(settings.budget), **of_models}


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: plain(getattr(value, name)) for name in names}


def _likelihood(summed: LikelihoodEstimate, test: Counts) -> dict[str, Any]:
    model: Any = None  # only conventions with lengths need it
    bag = in_convention(summed, model, DocumentBlock(test), "bag")
    squares = float((summed.standard_error**2).sum())
    return _fields(summed, "method", "perplexity", "nats_per_word") | {
        "standard_error": plain(summed.perplexity_standard_error),
        "bag_perplexity": plain(bag.perplexity),
        "too_many_nats_per_word": 0.5 * squares / summed.total_tokens,
    }


CLASSIC3 = Experiment(
    "lpmrf-classic3",
    "Figure 3, Classic3",
    "Perplexities of multinomials and of LPMRFs: single, mixtures and topic models.",
    *(partial(run, experiment="lpmrf-classic3"), figure_3.tables, figure_3.headline),
    figure_3.findings,
    (
        Figure("", "Figure 3: test perplexity by the published measure", figure_3.draw_published),
        Figure("-likelihood", "Test perplexity by the likelihood", figure_3.draw_likelihood),
    ),
    data=lambda result: (
        "" if result["corpus"]["is_classic3"] else data_note("Classic3", result["corpus"]["name"])
    ),
    # The built-in sample shows that the experiment runs; it decides no claim on the corpus.
    is_compared=lambda result: result["corpus"]["name"] != SAMPLE,
)
WIKIPEDIA = replace(
    CLASSIC3,
    name="lpmrf-wikipedia",
    where="Figure 3, Wikipedia",
    shows="Perplexities of a single multinomial and of a single LPMRF.",
    run=partial(run, experiment="lpmrf-wikipedia"),
    data=lambda result: data_note(published.ANY_WIKIPEDIA, result["corpus"]["name"]),
)
