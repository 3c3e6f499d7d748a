"""The model selection of Buntine 2009 (Figures 3 to 5): run at a scale, as tables and pictures."""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.figures.style import INK, MUTED
from pipeline.progress import Progress
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.cache.results import ResultCache, ResultGroup
    from pipeline.reproduce.settings import ReproduceSettings

logger = logging.getLogger(__name__)

NAME = "buntine-model-selection"


class Found(NamedTuple):
    """What a run came to."""

    dataset: str
    selection: Selection
    cells: Sequence[Cell]


def protocol(settings: ReproduceSettings) -> SelectionSettings:
    """What the scale stands for."""
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
    """All cells, from the cache as far as they are in it; each is put there when it is done."""
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
    return Found(settings.dataset, selection(wanted, cells), cells)


def cells_of(cache: ResultCache, settings: SelectionSettings) -> ResultGroup:
    """The cached cells of these settings, whatever the sizes that are asked for."""
    table = asdict(settings)
    del table["training_sizes"]
    return cache.group("experiment-" + NAME, settings=table)


def as_json(found: Found) -> dict[str, Any]:
    """A row for each model and estimator, what each estimator chose, and how long it took."""
    table = found.selection
    settings = table.settings
    seconds = {(each.n_train, each.n_topics): each.seconds for each in found.cells}
    bounds = {(each.n_train, each.n_topics): each.bounds.tolist() for each in found.cells}
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
        "name": f"{NAME}-{found.dataset}",
        "dataset": found.dataset,
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


def print_result(result: dict[str, Any]) -> None:
    """A table for each training size, then what is chosen."""
    estimators = list(result["samples"])
    spent = ", ".join(f"{name} {n} samples" for name, n in result["samples"].items() if n)
    truth = result["true_topics"]
    print(
        f"{result['dataset']}: documents of {truth} topics over {result['words']:,} words; "
        f"perplexity of {result['held_out_documents']:,} held-out documents ({spent})\n"
        f"loss: nats a word more than with {truth} topics ± its standard error, paired over "
        "documents"
    )
    tables: dict[int, dict[int, dict[str, dict[str, Any]]]] = {}
    for row in result["rows"]:
        of_size = tables.setdefault(row["training_documents"], {})
        of_size.setdefault(row["topics"], {})[row["estimator"]] = row
    for n_train, by_topics in tables.items():
        print(f"\nlearned from {n_train:,} documents")
        print("topics" + "".join(f"{name:>28s}" for name in estimators))
        for n_topics, of in by_topics.items():
            columns = [
                f"{row['perplexity']:9.2f} {row['loss']:8.4f} ± {row['loss_standard_error']:.4f}"
                for row in (of[name] for name in estimators)
            ]
            print(f"{n_topics:6d}" + "".join(f"{column:>28s}" for column in columns))
        perplexity = [f"{result['true_perplexity'][name]:9.2f}{'':18s}" for name in estimators]
        print(f"{'true':>6s}" + "".join(f"{column:>28s}" for column in perplexity).rstrip())
    print("\nnumber of topics chosen, by training documents")
    print(f"{'':12s}" + "".join(f"{n_train:>8,d}" for n_train in tables))
    for name in estimators:
        chosen = [each["topics"] for each in result["chosen"] if each["estimator"] == name]
        print(f"{name:12s}" + "".join(f"{n_topics:8d}" for n_topics in chosen))
    print("\nseconds of scoring with the true number of topics")
    print(f"{'':12s}" + "".join(f"{n_train:>8,d}" for n_train in tables))
    for name in estimators:
        seconds = [by_topics[truth][name]["seconds"] for by_topics in tables.values()]
        print(f"{name:12s}" + "".join(f"{each:8.1f}" for each in seconds))


def pictures(found: Found) -> dict[str, Callable[[Any], None]]:
    """The paper's two views: against training size (Figure 3), and against K (Figure 5)."""
    table = found.selection
    sizes, candidates = table.settings.training_sizes, table.settings.dataset.candidates

    def by_size(figure: Any) -> None:
        panels = figure.subplots(1, len(table.estimators), sharex=True, sharey=True)
        for m, axes in enumerate(panels):
            for k, n_topics in enumerate(candidates):
                axes.plot(sizes, table.perplexity[m, :, k], label=f"K = {n_topics}")
            axes.axhline(table.true_perplexity[m], color=INK, linestyle="--", label="true")
            axes.set_title(table.estimators[m])
            axes.set_xlabel("training documents")
        panels[0].set_ylabel("perplexity")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")

    def by_topics(figure: Any) -> None:
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

    stem = f"{NAME}-{found.dataset}"
    return {f"{stem}-by-size": by_size, f"{stem}-by-topics": by_topics}
