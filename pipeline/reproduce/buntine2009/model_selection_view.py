"""Model selection of Buntine 2009, Figures 3 to 5: the number of topics by likelihood."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.figures.style import INK, MUTED
from pipeline.progress import Progress
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.buntine2009.model_selection import (
    DATASETS,
    Cell,
    Selection,
    SelectionSettings,
    cell,
    planned,
    problem,
    selection,
)
from pipeline.reproduce.claims import Claim, decided
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.tables import (
    Headline,
    Table,
    grouped,
    indexed,
    plus_minus,
    text,
    text_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.settings import ReproduceSettings

NAME = "buntine-model-selection"


def protocol(settings: ReproduceSettings) -> SelectionSettings:
    """Return the protocol of a scale."""
    dataset = DATASETS[settings.dataset]
    if settings.scale == "full":
        return SelectionSettings(
            dataset, n_held_out=settings.held_out or 10_000, seed=settings.seed
        )
    return SelectionSettings(
        dataset,
        training_sizes=(1000, 2500),
        n_held_out=settings.held_out or 300,
        left_to_right_samples=20,
        n_starts=6,
        n_sweeps=100,
        seed=settings.seed,
    )


def run(settings: ReproduceSettings, cache: ResultCache) -> Found:
    """Train and score all models; each is cached when it is done."""
    wanted = protocol(settings)
    plan, cells = planned(wanted), []
    group = cells_of(cache, wanted)
    drawn = problem(wanted)
    with Progress(NAME, len(plan), "models") as progress:
        for n_train, n_topics in plan:
            compute = partial(cell, drawn, n_train, n_topics, settings.threads)
            name = f"{n_train}-{n_topics}"
            cells.append(group.cached(name, compute, Cell.to_arrays, Cell.from_arrays))
            progress.update(1)
    table = selection(wanted, cells)
    return Found(as_json(settings.dataset, table, cells), table)


def cells_of(cache: ResultCache, settings: SelectionSettings) -> ResultGroup:
    """Return the cached models of these settings, for any training sizes."""
    table = asdict(settings)
    del table["training_sizes"]
    return cache.group("experiment-" + NAME, settings=table)


def as_json(dataset: str, table: Selection, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return a row for each model and estimator, the choices of estimators, and their times."""
    settings = table.settings
    seconds = {(each.n_train, each.n_topics): each.seconds for each in cells}
    bounds = {(each.n_train, each.n_topics): each.bounds.tolist() for each in cells}
    rows = [
        {
            "training_documents": n_train,
            "topics": n_topics,
            "estimator": name,
            "perplexity": float(table.perplexity[m, i, k]),
            "loss": float(table.loss[m, i, k]),
            "loss_standard_error": float(table.loss_standard_error[m, i, k]),
            "seconds": seconds[n_train, n_topics][name],
        }
        for i, n_train in enumerate(settings.training_sizes)
        for k, n_topics in enumerate(settings.dataset.candidates)
        for m, name in enumerate(table.estimators)
    ]
    return {
        "name": f"{NAME}-{dataset}",
        "dataset": dataset,
        "true_topics": settings.dataset.n_topics,
        "words": settings.dataset.n_words,
        "held_out_documents": settings.n_held_out,
        "samples": settings.n_samples,
        "true_perplexity": dict(zip(table.estimators, table.true_perplexity.tolist(), strict=True)),
        "rows": rows,
        "chosen": [
            {"training_documents": n_train, "estimator": name, "topics": int(table.chosen[m, i])}
            for i, n_train in enumerate(settings.training_sizes)
            for m, name in enumerate(table.estimators)
        ],
        "training": [
            {
                "training_documents": n_train,
                "topics": n_topics,
                "seconds": seconds[n_train, n_topics]["training"],
                "nats_per_word_of_starts": bounds[n_train, n_topics],
            }
            for n_train, n_topics in planned(settings)[1:]
        ],
    }


def tables(result: Any) -> list[Table]:
    """Return the choices, perplexities over K for each training size, and seconds."""
    names, truth = list(result["samples"]), result["true_topics"]
    spent = ", ".join(f"{name} {n} samples" for name, n in result["samples"].items() if n)
    sizes = list(grouped(result["chosen"], "training_documents"))
    chosen = indexed(result["chosen"], "training_documents", "estimator")
    timed = indexed(result["rows"], "training_documents", "topics", "estimator")
    heads = [f"{size:,}" for size in sizes]
    found = [
        text_table(
            "Number of topics chosen, by size of the training part",
            ("estimator", *heads, "the known model"),
            [
                [name, *(str(chosen[size, name]["topics"]) for size in sizes), str(truth)]
                for name in names
            ],
            groups=(("", 1), ("ours", len(sizes)), ("truth", 1)),
        )
    ]
    for size, rows in grouped(result["rows"], "training_documents").items():
        lines = []
        for topics, of_topics in grouped(rows, "topics").items():
            by_name = indexed(of_topics, "estimator")
            lines.append([str(topics), *_cells(by_name[name] for name in names)])
        true = [
            each for name in names for each in (text(result["true_perplexity"][name], ".2f"), "–")
        ]
        found.append(
            text_table(
                f"Perplexity of models learned from {size:,} documents",
                ("topics", *("perplexity", "loss") * len(names)),
                [*lines, ["the known model", *true]],
                groups=(("", 1), *((name, 2) for name in names)),
                note=f"Of {result['held_out_documents']:,} held-out documents over "
                f"{result['words']:,} words ({spent}). Loss: nats a word more than with {truth} "
                "topics ± its standard error, paired over documents.",
            )
        )
    seconds = [
        [name, *(text(timed[size, truth, name]["seconds"], ".1f") for size in sizes)]
        for name in names
    ]
    title = "Seconds of scoring with the true number of topics, by size of the training part"
    return [*found, text_table(title, ("estimator", *heads), seconds)]


def _cells(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [
        cell
        for row in rows
        for cell in (
            text(row["perplexity"], ".2f"),
            plus_minus(row["loss"], row["loss_standard_error"]),
        )
    ]


def headline(result: Any) -> Headline:
    """Return the choices of models learned from most documents."""
    most, truth = max(row["training_documents"] for row in result["chosen"]), result["true_topics"]
    chosen = grouped(result["chosen"], "training_documents")[most]
    return Headline(
        f"topics chosen, learned from {most:,} documents of {truth} topics",
        ", ".join(f"{row['estimator']} {row['topics']}" for row in chosen),
        f"{truth} by MFI and LRS, by LR less clearly",
    )


def _claim(estimator: str, paper: str = "") -> Claim:
    def fails_at(result: Any) -> list[str] | None:
        if estimator not in result["samples"]:
            return None
        return [
            f"{row['training_documents']:,} documents ({row['topics']})"
            for row in result["chosen"]
            if row["estimator"] == estimator and row["topics"] != result["true_topics"]
        ]

    return Claim(
        f"{estimator.lower()}-chooses-truth",
        lambda result: (
            f"{estimator} chooses {result['true_topics']} topics, those of the known model"
        ),
        fails_at,
        paper,
    )


CLAIMS = (
    *(
        _claim(name, "MFI and LRS choose the right number of topics, LR less clearly.")
        for name in ("MFI 1st", "LR", REFINED)
    ),
    _claim("completion"),
)


def _draw_by_size(figure: Any, _: Any, table: Selection) -> None:
    panels = figure.subplots(1, len(table.estimators), sharex=True, sharey=True)
    for m, axes in enumerate(panels):
        for k, n_topics in enumerate(table.settings.dataset.candidates):
            axes.plot(
                table.settings.training_sizes, table.perplexity[m, :, k], label=f"K = {n_topics}"
            )
        axes.axhline(table.true_perplexity[m], color=INK, linestyle="--", label="true")
        axes.set_title(table.estimators[m])
        axes.set_xlabel("training documents")
    panels[0].set_ylabel("perplexity")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")


def _draw_by_topics(figure: Any, _: Any, table: Selection) -> None:
    sizes, candidates = table.settings.training_sizes, table.settings.dataset.candidates
    panels = figure.subplots(1, len(sizes), sharex=True, squeeze=False)[0]
    for i, axes in enumerate(panels):
        axes.axvline(table.settings.dataset.n_topics, color=MUTED, linestyle="--")
        for m, name in enumerate(table.estimators):
            axes.plot(candidates, table.perplexity[m, i], label=name)
        axes.set_xscale("log")
        axes.set_xticks(candidates, [str(k) for k in candidates], rotation=90)
        axes.minorticks_off()
        axes.set_title(f"{sizes[i]:,} documents")
        axes.set_xlabel("topics")
    panels[0].set_ylabel("perplexity")
    panels[-1].legend()


EXPERIMENT = Experiment(
    name=NAME,
    where="Figures 3 to 5",
    shows="Whether held-out perplexity is lowest at the number of topics of the known model.",
    run=run,
    tables=tables,
    headline=headline,
    findings=lambda found: decided(CLAIMS, found.result),
    figures=(
        Figure(
            "-by-size", "Figure 3: perplexity against the size of the training part", _draw_by_size
        ),
        Figure("-by-topics", "Figure 5: perplexity against the number of topics", _draw_by_topics),
    ),
    data=lambda _: "A drawn model in place of one learned from 50,182 news articles.",
)
