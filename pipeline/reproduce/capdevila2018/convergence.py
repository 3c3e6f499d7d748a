"""Capdevila et al. 2018, Figure 3: log-likelihood of real documents against the samples spent.

βΓ-PFA of up to 100 topics over the whole vocabulary. The exact values are unknown, but unbiased
estimators rise towards them from below, and the harmonic mean falls towards them from above: the
figure shows the samples and the seconds that each needs.

The paper scores documents that it trained on, too; here those that are scored are held out.
"""

from functools import partial
from typing import Any

import numpy as np

from pipeline.errors import UsageError
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.capdevila2018 import runs
from pipeline.reproduce.capdevila2018.runs import Budget, Run, last_rows
from pipeline.reproduce.counts import Counts, Named, corpora_of, draw_rows
from pipeline.reproduce.experiment import Experiment, Figure, Found, draw_lines, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Row, Table, text
from pipeline.reproduce.trials import group_of, scaled

NAME = "l2r-convergence"
LONG, SHORT = (10, 30, 100, 300, 1000, 3000, 10_000), (10, 30, 100, 300, 1000)
# The paper's sizes, but that L2R has no large ones
FULL = Budget(100, {"DS": LONG, "HM": LONG, "L2R": SHORT, REFINED: SHORT})
QUICK = {"n_topics": 20, "n_documents": 30}
MAX_SHARE = 0.2  # Largest share of the documents that is held out


def _run(settings: ReproduceSettings) -> Found:
    asked = {"n_topics": settings.topics, "n_documents": settings.scored}
    budget, corpora, rows = scaled(FULL, settings, QUICK, **asked), [], []
    for corpus in corpora_of(settings):
        training, documents = held_out(corpus, budget)
        group = group_of(NAME, budget, runs.LEVELS, counts=corpus.counts)
        common = budget, settings.threads, corpus.name
        topics = runs.cached_topics(group, training, *common)
        scores = runs.cached_scores(group, topics, documents, *common)
        about = {"documents": training.shape[0], "words": training.shape[1]}
        about |= {"scored": documents.shape[0], "tokens": int(documents.sum())}
        corpora.append({"corpus": corpus.name, **about})
        rows += rows_of(corpora[-1], budget, scores)
    return Found({"name": NAME, "topics": budget.n_topics, "corpora": corpora, "rows": rows})


def held_out(corpus: Named, budget: Budget) -> tuple[Counts, Counts]:
    """Return training documents (N - D, V), and those to score (D, V), which are not empty. Words
    that no document has are left out. Raises UsageError if there are fewer than two documents to
    score.
    """
    whole = corpus.counts[:, np.flatnonzero(np.asarray(corpus.counts.sum(axis=0)).ravel())]
    usable = np.flatnonzero(np.diff(whole.indptr))
    n_scored = min(budget.n_documents, int(MAX_SHARE * len(usable)))
    if n_scored < 2:
        raise UsageError(
            f"{corpus.name}: of {len(usable)} documents with any word, a fifth are scored: at "
            "least 10 are needed"
        )
    rows = draw_rows(usable, n_scored, budget.seed)
    return whole[np.setdiff1d(np.arange(whole.shape[0]), rows)], whole[rows]


def rows_of(about: Row, budget: Budget, scores: dict[Run, Row]) -> list[Row]:
    """Return a row for each estimator and number of samples, with totals over documents in nats.
    Totals are compared with that of our estimator with most samples.
    """
    total = {run: float(found["log_likelihood"].sum()) for run, found in scores.items()}
    reference = total[Run(REFINED, budget.sizes[REFINED][-1])]
    rows = []
    for run in (Run(name, size) for name, sizes in budget.sizes.items() for size in sizes):
        error = plain(np.sqrt((scores[run]["standard_error"] ** 2).sum()))
        above = (total[run] - reference) / about["tokens"]
        row = {"corpus": about["corpus"], "estimator": run.estimator, "samples": run.n_samples}
        row |= {"log_likelihood": total[run], "standard_error": error, "above_reference": above}
        rows.append(row | {"seconds": scores[run]["seconds"]})
    return rows


def _tables(result: Any) -> list[Table]:
    columns = (
        Column("estimator", "estimator"),
        Column("samples", "samples", ","),
        Column("log-likelihood, nats", "log_likelihood", ".2f", "standard_error"),
        Column("above, nats a word", "above_reference", "+.4f"),
        Column("seconds", "seconds", ".2f"),
    )
    found = []
    for of, rows in runs.by_corpus(result):
        title = f"{of['corpus']}: {of['scored']:,} held-out documents, {of['tokens']:,} tokens"
        note = (
            f"{result['topics']} topics, learned from {of['documents']:,} documents over "
            f"{of['words']:,} words; ± of sampling, as the estimator says itself. Above: more than "
            f"{REFINED} with most samples."
        )
        found.append(Table(title, columns, rows, note, headings=2))
    return found


def _headline(result: Any) -> Headline:
    corpus, last = next(iter(last_rows(result).items()))
    names = ("DS", "L2R", "HM")
    return Headline(
        f"nats a word above {REFINED}, with most samples, {corpus}",
        ", ".join(f"{name} {text(last[name]['above_reference'], '+.3f')}" for name in names),
        "only drawn: DS from below, HM above, L2R between",
    )


def _above(first: str, second: str, paper: str) -> tuple[Any, ...]:
    def holds(last: Any) -> bool:
        return bool(last[first]["log_likelihood"] > last[second]["log_likelihood"])

    sentence = f"{first} is above {second} with most samples"
    return f"{first}-above-{second}".lower(), sentence, holds, paper


CLAIMS = (
    _above("L2R", "DS", "Direct sampling is too low on long documents."),
    _above("HM", "L2R", "The harmonic mean is too high."),
    (
        "l2r-nearer-than-ds",
        f"L2R is nearer than DS to {REFINED} with most samples",
        lambda last: abs(last["L2R"]["above_reference"]) < abs(last["DS"]["above_reference"]),
        "L2R converges with fewer samples than direct sampling.",
    ),
)


def _draw(against: str, figure: Any, result: Any, _: Any) -> None:
    for axes, about, rows in runs.draw_corpora(figure, result, "log-likelihood, nats"):
        draw_lines(axes, rows, against, "log_likelihood", "estimator")
        axes.set(xscale="log", title=about["corpus"], xlabel=against)


EXPERIMENT = Experiment(
    NAME,
    "Figure 3",
    "How fast estimators converge on whole documents, where nothing exact is known.",
    *(_run, _tables, _headline, lambda result: runs.findings(result, CLAIMS)),
    (
        Figure("", "Figure 3: log-likelihood against samples", partial(_draw, "samples")),
        Figure("-seconds", "The same against seconds", partial(_draw, "seconds")),
    ),
    data=runs.note_of_corpora,
)
