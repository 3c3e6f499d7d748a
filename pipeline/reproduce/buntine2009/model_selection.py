"""Buntine 2009, Figures 3 to 5: estimators choose the number of topics of drawn documents.

The paper draws its documents from models of news that are not available. Here the known model is
drawn, too, of the same size: topics ~ Dirichlet(0.1 V · base), where base is Zipf's law over the V
words, so that topics share some of their frequent words, as topics of text without stop words do;
θ ~ Dirichlet(1 / K), so that most documents are of a few topics; 151 tokens on average.

LDA is then learned from the first I documents for each number of topics, and each estimator scores
the same held-out documents. Learning is collapsed Gibbs sampling with fixed symmetric priors, the
alpha of the truth for any number of topics, and eta = 0.1 a word. With learned priors a superfluous
topic has almost no tokens and costs almost nothing; the paper's "vanilla LDA" has fixed ones. Each
model continues the best of some random starts, by the variational bound on training documents: a
single start often merges two true topics and splits another, which costs more than a wrong number.
"""

import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from evaluation.comparison import paired_difference
from evaluation.completion import completion
from evaluation.document_blocks import DocumentBlock
from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.simulate import simulated_documents
from evaluation.lda.variational_bound import variational_bound
from models import GibbsLDA, LDATopics
from pipeline.figures.style import INK, MUTED
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_lengths, draw_topics, zipf_word_prior
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import Counts
from pipeline.reproduce.experiment import Experiment, Figure, Found, draw_lines, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Row, Table, grouped, pivoted
from pipeline.reproduce.trials import group_of, run_trials, scaled

Model = tuple[int, int]  # I, the training documents, 0 for the known model; and K

NAME = "buntine-model-selection"
QUICK: dict[str, Any] = {
    "training_sizes": (1000, 2500),
    "n_held_out": 300,
    "left_to_right_samples": 20,
    "n_starts": 6,
    "n_sweeps": 100,
}
MEAN_LENGTH, LENGTH_SHAPE = 151, 3.0  # Negative binomial; its standard deviation is about 87
ETA = 0.1
BLOCK = 500  # Documents drawn with one generator: more of them begin with the same
BOUND_DOCUMENTS = 1000  # Training documents that the starts are compared on
COMPLETION = "completion"
RIGHT = "MFI and LRS choose the right number of topics, LR less clearly."
# Names of arrays of a scored model; bounds are in nats a word, of each start
SECONDS, TRAINING, BOUNDS = "seconds of ", "seconds of training", "bounds"


class Dataset(NamedTuple):
    """A model to draw documents from, and the numbers of topics to try on them."""

    n_topics: int
    n_words: int
    candidates: tuple[int, ...]


DATASETS = {
    "s10s": Dataset(10, 5000, (5, 8, 9, 10, 11, 12, 20, 40)),
    "s10": Dataset(10, 28_251, (5, 8, 9, 10, 11, 12, 20, 40)),
    "s40": Dataset(40, 28_251, (20, 32, 35, 38, 40, 45, 50, 60)),
}


@dataclass(frozen=True)
class SelectionBudget:
    """Sizes and effort; sizes and samples are the paper's by default."""

    dataset: Dataset = DATASETS["s10s"]
    training_sizes: tuple[int, ...] = (1000, 2500, 5000, 10_000, 20_000, 30_000, 40_000)
    n_held_out: int = 10_000
    left_to_right_samples: int = 100
    mean_field_samples: int = 200
    n_starts: int = 8
    start_sweeps: int = 50  # Sweeps after which the starts are compared
    n_sweeps: int = 200  # Sweeps of the best start in all
    seed: int = 0

    @property
    def n_samples(self) -> dict[str, int | None]:
        """Samples of each estimator for a document."""
        n = self.left_to_right_samples
        return {"MFI 1st": self.mean_field_samples, "LR": n, REFINED: n, COMPLETION: None}

    @property
    def models(self) -> list[Model]:
        """The known model, then one for each training size and number of topics."""
        learned = product(self.training_sizes, self.dataset.candidates)
        return [(0, self.dataset.n_topics), *learned]


class Problem(NamedTuple):
    """Known model, and the documents (n_held_out, V) that all models are scored on."""

    budget: SelectionBudget
    truth: LDATopics
    held_out: Counts

    def training_documents(self, n_docs: int) -> Counts:
        """Return the first (I, V) of the documents to learn from."""
        return _documents(self.truth, n_docs, (self.budget.seed, 1))


def _run(settings: ReproduceSettings) -> Found:
    """Train and score all models; each is cached when it is done."""
    asked = {"dataset": DATASETS[settings.dataset], "n_held_out": settings.held_out}
    budget = scaled(SelectionBudget(), settings, QUICK, **asked)
    group = group_of(NAME, budget, ("training_sizes",))
    drawn = problem(budget)

    compute = partial(scored, drawn, n_jobs=settings.threads)
    shown = "{:,} documents, {} topics".format
    models = run_trials(group, budget.models, compute, NAME, "models", shown)
    return Found(as_json(settings.dataset, budget, models))


def problem(budget: SelectionBudget) -> Problem:
    """Draw the model and the held-out documents."""
    n_topics, n_words, _ = budget.dataset
    rng = np.random.default_rng([budget.seed, 0])
    truth = draw_topics(n_topics, zipf_word_prior(n_words, 0.1 * n_words), 1.0 / n_topics, rng)
    return Problem(budget, truth, _documents(truth, budget.n_held_out, (budget.seed, 2)))


def _documents(truth: LDATopics, n_docs: int, stream: tuple[int, int]) -> Counts:
    blocks = []
    for first in range(0, n_docs, BLOCK):
        rng = np.random.default_rng([*stream, first])
        lengths = draw_lengths(BLOCK, MEAN_LENGTH, LENGTH_SHAPE, rng)
        blocks.append(simulated_documents(truth, lengths, rng)[0])
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))[:n_docs]


def scored(drawn: Problem, n_train: int, n_topics: int, n_jobs: int | None = None) -> Row:
    """Learn `n_topics` topics from `n_train` documents and score them; 0 is the known model.
    Returns the arrays of each estimate, under the estimator's name, seconds, and bounds of starts.
    """
    budget, started = drawn.budget, time.perf_counter()
    topics, bounds = _learned(drawn, n_train, n_topics, n_jobs) if n_train else (drawn.truth, [])
    found = {BOUNDS: bounds, TRAINING: time.perf_counter() - started}
    for name, size in budget.n_samples.items():
        estimator = completion if name == COMPLETION else ESTIMATORS[name]
        documents, started = DocumentBlock(drawn.held_out), time.perf_counter()
        estimate = estimator(topics, documents, n_samples=size, seed=budget.seed, n_jobs=n_jobs)
        found[SECONDS + name] = time.perf_counter() - started
        found |= estimate.to_arrays(f"{name}/")
    return found


def _learned(
    drawn: Problem, n_train: int, n_topics: int, n_jobs: int | None
) -> tuple[LDATopics, list[float]]:
    """Return the topics of the best start, and the bounds of all."""
    budget, counts = drawn.budget, drawn.training_documents(n_train)
    fixed: dict[str, Any] = {"alpha": float(drawn.truth.alpha[0]), "eta": ETA}
    fixed |= {"learn_priors": "none", "start": "random", "n_iter": budget.start_sweeps}
    fixed["topics_from"] = "samples"
    bounds: list[float] = []
    for start in range(budget.n_starts):
        rng = np.random.default_rng([budget.seed, 3, n_train, n_topics, start])
        model = GibbsLDA(n_topics, **fixed, random_state=rng, n_jobs=n_jobs)
        model.fit(counts)
        some = DocumentBlock(counts[:BOUND_DOCUMENTS])
        bounds.append(variational_bound(model.topics_, some, n_jobs=n_jobs).nats_per_word)
        if bounds.index(min(bounds)) == start:
            best = model
    best.n_iter = budget.n_sweeps
    for _ in best.iterate(counts, state=best.state_):
        pass
    return best.topics_, bounds


def as_json(dataset: str, budget: SelectionBudget, models: dict[Model, Row]) -> Row:
    """Return a row for each model and estimator, the choices of estimators, and their times. Losses
    are nats a word more than with the true number of topics, paired over documents.
    """
    truth, names = budget.dataset.n_topics, list(budget.n_samples)

    def estimate(i: int, k: int, name: str) -> LikelihoodEstimate:
        arrays = {field: np.asarray(each) for field, each in models[i, k].items()}
        return LikelihoodEstimate.from_arrays(arrays, f"{name}/")

    rows, training = [], []
    for i, k in budget.models[1:]:
        known = {"training_documents": i, "topics": k}
        seconds, bounds = float(models[i, k][TRAINING]), np.asarray(models[i, k][BOUNDS]).tolist()
        training.append({**known, "seconds": seconds, "nats_per_word_of_starts": bounds})
        for name in names:
            ours = estimate(i, k, name)
            loss = paired_difference(ours, estimate(i, truth, name))
            row = {**known, "estimator": name, "perplexity": ours.perplexity}
            row |= {"loss": loss.nats_per_word, "loss_standard_error": loss.standard_error}
            rows.append(plain(row | {"seconds": models[i, k][SECONDS + name]}))
    shown = ("training_documents", "estimator", "topics")
    best = (min(of, key=itemgetter("perplexity")) for of in grouped(rows, *shown[:2]).values())
    chosen = [{key: row[key] for key in shown} for row in best]
    perplexity = {name: estimate(0, truth, name).perplexity for name in names}
    about = {"name": f"{NAME}-{dataset}", "dataset": dataset, "true_topics": truth}
    about |= {"words": budget.dataset.n_words, "held_out_documents": budget.n_held_out}
    found = {"samples": budget.n_samples, "true_perplexity": perplexity, "rows": rows}
    return {**about, **found, "chosen": chosen, "training": training}


def _tables(result: Any) -> list[Table]:
    samples, truth = result["samples"], result["true_topics"]
    by_size = grouped(result["rows"], "training_documents")

    def over_sizes(title: str, rows: Any, key: str, form: str = "", *more: Column) -> Table:
        sizes = (Column(f"{n:,}", (n, key), form, group="ours" if more else "") for n in by_size)
        pivot = pivoted(rows, "estimator", "training_documents")
        return Table(title, (Column("estimator", "estimator"), *sizes, *more), pivot)

    spent = ", ".join(f"{name} {n} samples" for name, n in samples.items() if n)
    note = (
        f"Of {result['held_out_documents']:,} held-out documents over {result['words']:,} words "
        f"({spent}). Loss: nats a word more than with {truth} topics ± its standard error, paired "
        "over documents."
    )
    columns = [Column("topics", "topics")]
    for name in samples:
        columns.append(Column("perplexity", f"{name}.perplexity", ".2f", group=name))
        columns.append(Column("loss", f"{name}.loss", ".4f", f"{name}.loss_standard_error", name))
    known = {name: {"perplexity": each} for name, each in result["true_perplexity"].items()}
    last = {"topics": "the known model", **known}
    chosen, scored = "Number of topics chosen", "Seconds of scoring with the true number of topics"
    by_parts, with_truth = "by size of the training part", grouped(result["rows"], "topics")[truth]
    known_model = Column("the known model", lambda _: truth, group="truth")
    return [
        over_sizes(f"{chosen}, {by_parts}", result["chosen"], "topics", "", known_model),
        *(
            Table(
                f"Perplexity of models learned from {size:,} documents",
                tuple(columns),
                [*pivoted(rows, "topics", "estimator"), last],
                note,
            )
            for size, rows in by_size.items()
        ),
        over_sizes(f"{scored}, {by_parts}", with_truth, "seconds", ".1f"),
    ]


def _headline(result: Any) -> Headline:
    chosen, truth = grouped(result["chosen"], "training_documents"), result["true_topics"]
    return Headline(
        f"topics chosen, learned from {max(chosen):,} documents of {truth} topics",
        ", ".join(f"{row['estimator']} {row['topics']}" for row in chosen[max(chosen)]),
        f"{truth} by MFI and LRS, by LR less clearly",
    )


def _findings(result: Any) -> Findings:
    truth = result["true_topics"]
    for name, rows in grouped(result["chosen"], "estimator").items():
        wrong = [row for row in rows if row["topics"] != truth]
        yield Finding(
            f"{name.lower()}-chooses-truth",
            f"{name} chooses {truth} topics, those of the known model",
            [f"{row['training_documents']:,} documents ({row['topics']})" for row in wrong],
            "" if name == COMPLETION else RIGHT,
        )


def _draw_by_size(figure: Any, result: Any, _: Any) -> None:
    by_estimator = grouped(result["rows"], "estimator").items()
    panels = figure.subplots(1, len(by_estimator), sharex=True, sharey=True)
    for axes, (name, rows) in zip(panels, by_estimator, strict=True):
        draw_lines(axes, rows, "training_documents", "perplexity", "topics", "K = {}")
        axes.axhline(result["true_perplexity"][name], color=INK, linestyle="--", label="true")
        axes.set(title=name, xlabel="training documents")
    panels[0].set_ylabel("perplexity")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")


def _draw_by_topics(figure: Any, result: Any, _: Any) -> None:
    by_size = grouped(result["rows"], "training_documents")
    candidates = list(grouped(result["rows"], "topics"))
    panels = figure.subplots(1, len(by_size), sharex=True, squeeze=False)[0]
    for axes, (size, rows) in zip(panels, by_size.items(), strict=True):
        axes.axvline(result["true_topics"], color=MUTED, linestyle="--")
        draw_lines(axes, rows, "topics", "perplexity", "estimator")
        axes.set_xscale("log")
        axes.set_xticks(candidates, [str(k) for k in candidates], rotation=90)
        axes.minorticks_off()
        axes.set(title=f"{size:,} documents", xlabel="topics")
    panels[0].set_ylabel("perplexity")
    panels[-1].legend()


EXPERIMENT = Experiment(
    NAME,
    "Figures 3 to 5",
    "Whether held-out perplexity is lowest at the number of topics of the known model.",
    *(_run, _tables, _headline, _findings),
    (
        Figure(
            "-by-size", "Figure 3: perplexity against the size of the training part", _draw_by_size
        ),
        Figure("-by-topics", "Figure 5: perplexity against the number of topics", _draw_by_topics),
    ),
    data=lambda _: "A drawn model in place of one learned from 50,182 news articles.",
)
