"""Figures 15 and 19 to 21 of Aldebakel et al. 2022: K by coherence, and topics as word clouds."""

from typing import Any

import numpy as np

from corpora import Corpus
from evaluation import coherence
from pipeline.errors import UsageError
from pipeline.figures.style import MUTED
from pipeline.report.figures.word_clouds import MAX_PANELS, draw_clouds
from pipeline.report.word_clouds import MAX_WORDS, word_cloud
from pipeline.reproduce.aldebakel2022 import training
from pipeline.reproduce.aldebakel2022.training import MIN_COMPARED, summary
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.counts import words_of_counts
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, numbers, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, text

NAME = "aldebakel-topics"
PUBLISHED = {5: 0.539, 10: 0.610, 15: 0.597, 20: 0.639, 25: 0.634, 30: 0.606, 40: 0.589}  # c_v by K
CANDIDATES = tuple(PUBLISHED)
BEST = (20, 25)  # Numbers of topics at the peak of the published c_v
CAP, N_WORDS = 20, 10
MIN_SHARED = 3
THEMES = {
    "music": "music song album band singer musical sing concert",
    "academia": "school university student college education professor teacher academic",
    "sports": "game team season player league win play championship",
}  # Words by which a topic of ours is about the theme of a published word cloud
OPTIMUM = "Our finding is that a value of around 25 topics is optimal (Sec. 3.2)."
THEMES_FOUND = (
    "Topic 0 below appears to be about music, topic 5 below is about education and topic 6 below "
    "is about sports (Sec. 4.1)."
)
MEASURED = ("c_v", "c_npmi", "bound")


def _run(settings: ReproduceSettings) -> Found:
    """Train with each K in each run; each model is cached when it is done."""
    corpus, n_shown = words_of_counts(settings, NAME), settings.topics or training.N_TOPICS
    if len(corpus.words) < 2:
        raise UsageError(f"--counts: {NAME} takes 2 words at least, as coherence is of pairs")

    def train(part: training.Part, n_topics: int) -> dict[str, Any]:
        topics, taken = training.variational(part, n_topics, CAP)
        names = [str(d) for d in range(part.train.shape[0])]
        reference = Corpus(part.train, corpus.words, names)
        proportions = topics.proportions(part.train, n_jobs=part.n_jobs)
        top = topics.top_words(MAX_WORDS)
        taken |= {name: coherence(topics, reference, name).mean for name in MEASURED[:2]}
        taken["bound"] = training.score(topics, part, "bound")
        prevalence = np.average(proportions, axis=0, weights=part.train.sum(axis=1))
        probabilities = np.take_along_axis(topics.topic_word, top, axis=1)
        return taken | {"prevalence": prevalence, "top": top, "probabilities": probabilities}

    models = [(k,) for k in sorted({*CANDIDATES, n_shown})]
    run_name = "run {}, {} topics".format
    runs = training.run_models(NAME, corpus.counts, models, train, settings, run_name)
    rows: list[dict[str, Any]] = [
        {"topics": k, "published": PUBLISHED.get(k), **summary(MEASURED, each)}
        for (k,), each in runs.items()
    ]
    shown = runs[n_shown,][0]
    order = np.argsort(-shown["prevalence"], kind="stable")
    words = [[corpus.words[w] for w in shown["top"][k]] for k in order]
    about = {"name": NAME, "corpus": corpus.name, "documents": corpus.counts.shape[0]}
    best = max(rows, key=lambda row: row["c_v"])["topics"]
    about |= {"runs": len(runs[n_shown,]), "best": best, "rows": rows}
    topics = [
        {"topic": k, "prevalence": shown["prevalence"][k], "words": of_topic[:N_WORDS]}
        for k, of_topic in zip(order, words, strict=True)
    ]
    drawn = [*zip(words, shown["probabilities"][order], strict=True)]
    return Found(plain(about | {"topics": topics}), drawn)


def _tables(result: Any) -> list[Table]:
    by_number = (
        Column("topics", "topics"),
        *(Column(name, name, ".3f", f"{name}_error", "ours") for name in MEASURED),
        Column("c_v", "published", ".3f", group="published"),
    )
    note = (
        f"Mean ± standard error over {result['runs']} runs on {result['documents']:,} documents. "
        f"Coherence: of the first {N_WORDS} words in training documents, whole documents being "
        "windows; published is of windows of 110 tokens. Bound: on held-out documents, nats a "
        "word."
    )
    of_topic = (
        Column("topic", "topic"),
        Column("first words", lambda row: " ".join(row["words"])),
        Column("share", "prevalence", ".1%"),
    )
    title = f"The {len(result['topics'])} topics of the first run"
    return [
        Table("Coherence of topics by online VB, by their number", by_number, result["rows"], note),
        Table(title, of_topic, result["topics"], headings=2),
    ]


def _headline(result: Any) -> Headline:
    c_v = text(max(row["c_v"] for row in result["rows"]), ".3f")
    what = "number of topics of the highest c_v"
    return Headline(what, f"{result['best']} ({c_v})", "20 (0.639)")


def _findings(result: Any) -> Findings:
    """Decide the paper's claims, which are about many documents."""
    if result["documents"] < MIN_COMPARED:
        return
    other = [] if result["best"] in BEST else [f"{result['best']} topics"]
    text = f"coherence (c_v) is highest at {BEST[0]} or {BEST[1]} topics"
    yield Finding("best-number", text, other, OPTIMUM)
    found = [{*row["words"]} for row in result["topics"]]
    shared = {name: max(len(each & {*THEMES[name].split()}) for each in found) for name in THEMES}
    missing = [name for name in THEMES if shared[name] < MIN_SHARED]
    text = "music, academia and sports have a topic each, with "
    text += f"{MIN_SHARED} of their words among its first {N_WORDS}"
    yield Finding("themes", text, missing, THEMES_FOUND)


def _draw_coherence(figure: Any, result: Any, _: Any) -> None:
    axes, rows = figure.subplots(), result["rows"]
    x, y, errors = (numbers(rows, name) for name in ("topics", "c_v", "c_v_error"))
    axes.errorbar(x, y, errors, capsize=3, label=result["corpus"])
    axes.plot(*zip(*PUBLISHED.items(), strict=True), color=MUTED, linestyle="--", label="published")
    axes.set(xlabel="topics", ylabel="c_v")
    axes.legend()


def _draw_clouds(figure: Any, result: Any, drawn: Any) -> None:
    clouds = [
        (f"Topic {row['topic']} ({row['prevalence']:.1%})", word_cloud(*of_topic))
        for row, of_topic in zip(result["topics"], drawn, strict=True)
    ]
    draw_clouds(figure, [each for each in clouds if each[1]][:MAX_PANELS])


EXPERIMENT = Experiment(
    NAME,
    "Figures 15 and 19 to 21",
    "The number of topics with the highest coherence, and topics as word clouds.",
    *(_run, _tables, _headline, _findings),
    (
        Figure("-coherence", "Figure 15: coherence by the number of topics", _draw_coherence),
        Figure("-clouds", "Figures 19 to 21: the most prevalent topics as clouds", _draw_clouds),
    ),
    data=lambda result: data_note("49,835 articles of Wikipedia", result["corpus"]),
    is_compared=lambda result: result["documents"] >= MIN_COMPARED,
)
