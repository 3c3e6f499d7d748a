"""Tables and headlines of the experiments of Buntine 2009, from their results as JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.reproduce.old_tables import Headline, Table, grouped, plus_minus, table, text

if TYPE_CHECKING:
    from collections.abc import Sequence


def table_1(result: dict[str, Any]) -> list[Table]:
    """Table 1: one for each gamma, ours beside the published."""
    return [
        table(
            f"gamma = {gamma:g}",
            ("estimator", "mean", "st. dev.", "t", "covered", "p / exact", "mean", "st. dev.", "t"),
            [_estimator(row) for row in rows],
            groups=(("", 1), ("ours", 5), ("published, 100 pairs", 3)),
            note=f"Error of −log2 p a word over {result['pairs']:,} pairs of model and document. "
            "Covered: truth within two standard errors that the estimator reports. p / exact: mean "
            "ratio, 1 for an unbiased estimator.",
        )
        for gamma, rows in grouped(result["rows"], "gamma").items()
    ]


def _estimator(row: dict[str, Any]) -> list[str]:
    theirs = row["published"] or {}
    return [
        row["estimator"],
        text(row["mean"], ".5f"),
        text(row["standard_deviation"], ".4f"),
        text(row["t"], ".2f"),
        f"{row['coverage']:.0%}",
        plus_minus(row["ratio"], row["ratio_standard_error"], ".3f"),
        text(theirs.get("mean"), ".5f"),
        text(theirs.get("standard_deviation"), ".4f"),
        text(theirs.get("t"), ".2f"),
    ]


def table_1_headline(result: dict[str, Any]) -> Headline:
    """Of the estimator that the paper proposes, where topics are most distinct."""
    row = next(row for row in result["rows"] if row["estimator"] == "LRS")
    theirs = row["published"]

    def said(of: dict[str, Any]) -> str:
        return f"{text(of['mean'], '.5f')} (t = {text(of['t'], '.2f')})"

    what = f"mean error of LRS at gamma = {row['gamma']:g}, bits a word"
    return Headline(what, said(row), said(theirs) if theirs else "–")


def convergence(result: dict[str, Any]) -> list[Table]:
    """What Figures 1 and 2 are drawn from, and the errors of all runs."""
    by_size = grouped(result["rows"], "samples")
    names = [row["estimator"] for row in next(iter(by_size.values()))]
    return [
        table(
            title,
            ("samples", *names),
            [
                (f"{size:,}", *(text(row[column], ".5f") for row in rows))
                for size, rows in by_size.items()
            ],
            note=f"Bits a word; exactly {result['exact']:.5f}.",
        )
        for title, column in (
            ("Estimates of −log2 p a word, one run", "estimate"),
            (
                f"Root mean square error over {result['runs']} runs",
                "root_mean_square_error",
            ),
        )
    ]


def convergence_headline(result: dict[str, Any]) -> Headline:
    """How far off the particle sampler and the sequential one are in the end."""
    most = max(row["samples"] for row in result["rows"])
    error = {
        row["estimator"]: row["root_mean_square_error"]
        for row in result["rows"]
        if row["samples"] == most
    }
    return Headline(
        f"root mean square error with {most:,} samples, bits a word",
        ", ".join(f"{name} {text(error[name], '.4f')}" for name in ("HM", "LR", "LRS")),
        "only drawn: all but HM come close, LR slightly biased",
    )


def model_selection(result: dict[str, Any]) -> list[Table]:
    """Perplexities over K for each size of the training part, and which K is chosen."""
    names, truth = list(result["samples"]), result["true_topics"]
    tables = [_choices(result, names)]
    for size, rows in grouped(result["rows"], "training_documents").items():
        lines = []
        for topics, of_topics in grouped(rows, "topics").items():
            cells: list[str] = []
            for row in sorted(of_topics, key=lambda row: names.index(row["estimator"])):
                loss = plus_minus(row["loss"], row["loss_standard_error"])
                cells += [text(row["perplexity"], ".2f"), loss]
            lines.append([f"{topics}", *cells])
        true = [
            each for name in names for each in (text(result["true_perplexity"][name], ".2f"), "–")
        ]
        tables.append(
            table(
                f"Perplexity of models learned from {size:,} documents",
                ("topics", *("perplexity", "loss") * len(names)),
                [*lines, ["the known model", *true]],
                groups=(("", 1), *((name, 2) for name in names)),
                note=f"Of {result['held_out_documents']:,} held-out documents. Loss: nats a word "
                f"more than with {truth} topics ± its standard error, paired over documents.",
            )
        )
    return tables


def _choices(result: dict[str, Any], names: Sequence[str]) -> Table:
    sizes = grouped(result["chosen"], "training_documents")
    chosen = {
        (size, row["estimator"]): row["topics"] for size, rows in sizes.items() for row in rows
    }
    return table(
        "Number of topics chosen, by size of the training part",
        ("estimator", *(f"{size:,}" for size in sizes), "the known model"),
        [
            [name, *(str(chosen[size, name]) for size in sizes), str(result["true_topics"])]
            for name in names
        ],
        groups=(("", 1), ("ours", len(sizes)), ("truth", 1)),
    )


def model_selection_headline(result: dict[str, Any]) -> Headline:
    """What is chosen, learned from most documents."""
    most = max(row["training_documents"] for row in result["chosen"])
    chosen = [
        f"{row['estimator']} {row['topics']}"
        for row in result["chosen"]
        if row["training_documents"] == most
    ]
    truth = result["true_topics"]
    return Headline(
        f"topics chosen, learned from {most:,} documents of {truth} topics",
        ", ".join(chosen),
        f"{truth} by MFI and LRS, by LR less clearly",
    )
