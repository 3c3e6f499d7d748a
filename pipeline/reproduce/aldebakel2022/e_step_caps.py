"""Figures 16 and 18 of Aldebakel et al. 2022: online VB with a capped E-step, Gibbs sampling."""

import math
from itertools import product
from typing import Any

from pipeline.reproduce.aldebakel2022 import training
from pipeline.reproduce.aldebakel2022.training import MIN_COMPARED, NEAR, SCORES, summary
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import words_of_counts
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, numbers, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped, text

NAME = "aldebakel-trainers"
VB, GIBBS = "VB, cap", "Gibbs, sweeps"
CAPS, SWEEPS = (5, 10, 20, 40, 80), (20, 50, 100, 200, 500)  # Published: all caps, 50 sweeps
TRAIN = {VB: training.variational, GIBBS: training.sampled}
SECONDS = {(VB, 5): 43, (VB, 10): 48, (VB, 20): 83, (VB, 40): 75, (VB, 80): 72, (GIBBS, 50): 2280}
BOUNDS = {(VB, 5): -1.189, (VB, 10): -1.209, (VB, 20): -1.209, (VB, 40): -1.235, (VB, 80): -1.258}
"""Published bounds, in 10⁸ nats."""
FASTER = (
    "The running time until early stopping is faster as the maximum number of iterations is "
    "dropped to 5 (Sec. 3.3)."
)
HIGHER = "The figure shows a higher ELBO when the number of iterations is smaller (Sec. 3.3)."
SIMILAR = "We obtain perplexity scores that are roughly similar to the scores from MFVI (Sec. 3.5)."
LONGER = "It took 38 minutes to run the code, as opposed to just 3-4 minutes for MFVI (Sec. 3.5)."
MEASURED = ("updates", "near", "training_seconds", *SCORES)


def _run(settings: ReproduceSettings) -> Found:
    """Train by both in each run; each model is cached when it is done."""
    corpus, n_topics = words_of_counts(settings, NAME), settings.topics or training.N_TOPICS
    sweeps = SWEEPS[:-1] if settings.scale == "quick" else SWEEPS
    models = [*product([VB], CAPS), *product([GIBBS], sweeps)]

    def train(part: training.Part, trainer: str, limit: int) -> dict[str, float]:
        topics, taken = TRAIN[trainer](part, n_topics, limit)
        return taken | {name: training.score(topics, part, name) for name in SCORES}

    runs = training.run_models(NAME, corpus.counts, models, train, settings, "run {}, {} {}".format)
    rows = [
        {"trainer": model[0], "limit": model[1], **summary(MEASURED, each)}
        | {"more": summary(MEASURED, each, runs[VB, CAPS[-1]])}
        | {"published_seconds": SECONDS.get(model), "published_bound": BOUNDS.get(model)}
        for model, each in runs.items()
    ]
    about = {"name": NAME, "corpus": corpus.name, "documents": corpus.counts.shape[0]}
    return Found(plain({**about, "topics": n_topics, "runs": len(runs[models[0]]), "rows": rows}))


def _tables(result: Any) -> list[Table]:
    more, scores = "above VB with the last cap", (("bound", "bound"), ("log p", "log_p"))
    columns = (
        *(Column("trainer", "trainer"), Column("", "limit")),
        Column("updates, 10⁶", "updates", ",.2f", group="ours"),
        Column("near, 10⁶", "near", ",.2f", group="ours"),
        Column("seconds", "training_seconds", ",.2f", "training_seconds_error", "ours"),
        *(Column(title, name, ".4f", f"{name}_error", "ours") for title, name in scores),
        *(Column(t, f"more.{name}", "+.4f", f"more.{name}_error", more) for t, name in scores),
        Column("seconds", "published_seconds", ",", group="published"),
        Column("bound, 10⁸", "published_bound", ".3f", group="published"),
    )
    note = (
        f"Mean ± standard error over {result['runs']} runs on {result['documents']:,} documents, "
        f"each with other held-out documents; {result['topics']} topics. Cap: rounds of the E-step "
        "of a document, at most, until early stopping. Updates: of the topics of a word. Near: "
        "updates after which the perplexity is at most a tenth above the last. Bound: on held-out "
        "documents, log p: their likelihood by left-to-right sampling, in nats a word."
    )
    return [Table("Online VB by cap, Gibbs sampling by sweeps", columns, result["rows"], note, 2)]


def _headline(result: Any) -> Headline:
    low, *_, high = grouped(result["rows"], "trainer")[VB]
    what, more = f"bound with cap {low['limit']} above cap {high['limit']}", low["more"]["bound"]
    spent = f"{low['updates'] / high['updates']:.0%} of the updates"
    ours = f"{text(more, '+.4f')} nats a word, with {spent}"
    return Headline(what, ours, "higher, in 60% of the seconds")


def _findings(result: Any) -> Findings:
    by_trainer = grouped(result["rows"], "trainer")
    capped, swept = by_trainer[VB], by_trainer[GIBBS]
    low = [(f"cap {row['limit']}", row["more"]) for row in capped if row["limit"] in (5, 10)]
    more = [(cap, of["updates"]) for cap, of in low if of["updates"] > -2 * of["updates_error"]]
    claim = "caps of 5 and 10, against the last: fewer updates by two standard errors"
    yield Finding("fewer-updates", claim, _gains(more), FASTER)
    lower = [(cap, of["bound"]) for cap, of in low if of["bound"] < -2 * of["bound_error"]]
    claim = "caps of 5 and 10, against the last: bound no lower by two standard errors"
    yield Finding("bound-no-lower", claim, _gains(lower), HIGHER)
    far = [
        f"{row['limit']} sweeps ({math.exp(-row['more']['log_p']):.2f} times the perplexity)"
        for row in swept
        if row["limit"] >= 50 and abs(row["more"]["log_p"]) > NEAR
    ]
    claim = (
        "Gibbs sampling of 50 sweeps, as published, or more: perplexity within a tenth of that of "
        "VB with the last cap"
    )
    yield Finding("gibbs-is-near", claim, far, SIMILAR)
    near = [row["updates"] for row in swept if row["more"]["bound"] >= -NEAR]
    slow = [row for row in capped if near and near[0] <= row["near"]]
    quicker = [
        f"cap {row['limit']} ({near[0] / row['near']:.2f} times the updates)" for row in slow
    ]
    claim = "Gibbs sampling takes more updates than VB until it is near"
    if near:
        yield Finding("gibbs-takes-longer", claim, quicker, LONGER)


def _gains(found: list[tuple[str, float]]) -> list[str]:
    return [f"{place} ({text(gain, '+,.4g')})" for place, gain in found]


def _draw(figure: Any, result: Any, _: Any) -> None:
    titles = {"updates": "updates of the topics of a word, 10⁶", "training_seconds": "seconds"}
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        for trainer, rows in grouped(result["rows"], "trainer").items():
            x, y = numbers(rows, name), numbers(rows, "more", "log_p")
            errors = numbers(rows, "more", "log_p_error")
            axes.errorbar(x, y, errors, capsize=3, label=f"{trainer} as numbered")
            for row, *place in zip(rows, x, y, strict=True):
                axes.annotate(row["limit"], place, (4, -11), textcoords="offset points", fontsize=9)
        axes.set_xlabel(title)
        axes.set_xscale("log", subs=(2, 5))
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.xaxis.set_minor_formatter("{x:,g}")
    panels[0].set_ylabel("held-out log p above VB with the last cap, nats a word")
    panels[0].legend()


EXPERIMENT = Experiment(
    NAME,
    "Figures 16 and 18",
    "How the E-step cap and Gibbs sampling change work and quality of topics.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Figures 16 and 18: held-out likelihood by work and seconds", _draw),),
    data=lambda result: data_note("24,000 articles of Wikipedia", result["corpus"]),
    is_compared=lambda result: result["documents"] >= MIN_COMPARED,
)
