"""Tables of the experiments of Cemgil et al. 2019, from their results as JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.reproduce.cemgil2019.scores import NAMES, SORTED, WITH_MOVES
from pipeline.reproduce.old_tables import Table, grouped, plus_minus, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

SCORING = ("smc", WITH_MOVES, "vb")


def toy(result: dict[str, Any]) -> list[Table]:
    """Figure 9 as numbers: a table for each matrix."""
    return [
        table(
            f"{matrix}: log marginal likelihood, nats",
            (
                *("a", "K", "exact", "SMC − exact", "sorted order − exact", "VB"),
                *("exact", "SMC − exact", "VB"),
                *("exact", "SMC", "VB"),
            ),
            [_toy_row(row) for row in rows],
            groups=(("", 2), ("ours", 4), ("published", 3), ("log odds of K, ours", 3)),
            headings=2,
            note=f"KL-NMF of rank K; {result['particles']:,} particles, {result['repeats']} runs, "
            f"± the estimate's own standard error; VB: best of {result['starts']} starts.",
        )
        for matrix, rows in grouped(result["rows"], "matrix").items()
    ]


def _toy_row(row: dict[str, Any]) -> list[str]:
    theirs, odds = row["published"], row["log_odds"]
    is_published = theirs["exact"] is not None
    return [
        text(row["a"], "g"),
        str(row["rank"]),
        text(row["exact"], ".5f"),
        *(
            plus_minus(row["error"][method], row["standard_error"][method], ".1e")
            for method in ("smc", SORTED)
        ),
        text(row["vb"], ".5f"),
        text(theirs["exact"], ".5f"),
        text(theirs["smc"] - theirs["exact"] if is_published else None, "+.1e"),
        text(theirs["vb"], ".5f"),
        *(text(odds[method], ".3f") for method in ("exact", "smc", "vb")),
    ]


def histogram(result: dict[str, Any]) -> list[Table]:
    """What is said of Figure 5: over a, and over the effective parameters."""
    smallest = f"{result['rows'][-1]['a']:g}"
    return [
        table(
            f"All {result['allocations']:,} allocations of {result['matrix']} at K = "
            f"{result['rank']}",
            (
                *("a", "log Σ π(S)", "exact log L", "spacing", "spacing − log a"),
                *("explained", "modes apart"),
            ),
            [
                (
                    text(row["a"], "g"),
                    text(row["log_sum"], ".6f"),
                    text(row["exact"], ".6f"),
                    text(row["spacing"], ".3f"),
                    text(row["above_log_a"], ".3f"),
                    text(row["explained"], ".4f"),
                    "yes" if row["levels_are_separate"] else "no",
                )
                for row in result["rows"]
            ],
            note="Spacing: nats that one effective parameter costs; published: log a. Explained: "
            "share of the variance of log π(S) that the effective parameters account for.",
        ),
        table(
            f"log π(S) at a = {smallest}, by effective parameters",
            ("effective parameters", "allocations", "lowest", "highest"),
            [
                (
                    str(level["effective_parameters"]),
                    f"{level['allocations']:,}",
                    *(text(end, ".2f") for end in level["log_pi"][smallest]),
                )
                for level in result["levels"]
            ],
        ),
    ]


def parafac(result: dict[str, Any]) -> list[Table]:
    """Ranks found, scores over ranks (Figure 10a), and seconds over sizes (Figure 10b)."""
    cost = result["cost"]
    return [
        table(
            "Rank found",
            ("tensor", *(NAMES[method] for method in SCORING), "SMC", "VB"),
            [
                (str(each["tensor"]), *(str(each[method]) for method in SCORING), "5", "5")
                for each in result["found"]
            ],
            groups=(("", 1), ("ours", 3), ("published, of one tensor", 2)),
            note=f"Drawn with R = {result['true_rank']}; {result['tokens']} tokens.",
        ),
        *(
            table(
                f"Tensor {tensor}: log marginal likelihood, nats",
                ("R", *(NAMES[method] for method in SCORING)),
                [
                    (
                        str(row["rank"]),
                        *(_with_runs(row, method) for method in SCORING[:2]),
                        text(row["vb"], ".2f"),
                    )
                    for row in rows
                ],
                note="In brackets the lowest and the highest run. VB: a lower bound.",
            )
            for tensor, rows in grouped(result["rows"], "tensor").items()
        ),
        table(
            f"Seconds on tensors of {cost['tokens']:,} tokens",
            ("tensor", "cells not empty", "SMC", "VB", "VB's epochs"),
            [
                (
                    f"{row['size']}³",
                    f"{row['cells_not_empty']:,.0f}",
                    text(row["smc_seconds"], ".4f"),
                    text(row["vb_seconds"], ".4f"),
                    f"{row['vb_epochs']:.0f}",
                )
                for row in cost["rows"]
            ],
            note=f"One core, median of {cost['tensors']} tensors; one run of "
            f"{cost['particles']:,} particles, one start of VB.",
        ),
    ]


def _with_runs(row: Mapping[str, Any], method: str) -> str:
    runs = row["runs"][method]
    ends = f"{text(min(runs), '.1f')} to {text(max(runs), '.1f')}"
    return f"{text(row[method], '.2f')} ({ends})"


def curves(result: dict[str, Any]) -> list[Table]:
    """Log marginals over ranks: a table for each strength and graph, and the best ranks."""
    complete = {each["a"]: each["log_marginal"] for each in result.get("complete_graph", [])}
    tables = []
    for a, of_strength in grouped(result["rows"], "a").items():
        for graph, rows in grouped(of_strength, "graph").items():
            note = "In brackets the lowest and the highest run. VB: a lower bound."
            if a in complete:
                note += f" Complete graph: {text(complete[a], '.2f')}."
            tables.append(
                table(
                    f"a = {text(a, 'g')}, {graph}: log marginal likelihood, nats",
                    ("rank", *(NAMES[method] for method in SCORING)),
                    [
                        (str(rank), *(_score(row) for row in _in_order(of_rank)))
                        for rank, of_rank in grouped(rows, "rank").items()
                    ],
                    note=note,
                )
            )
    return [*tables, _best(result["best"])]


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: SCORING.index(row["method"]))


def _score(row: dict[str, Any]) -> str:
    score = text(row["log_marginal"], ".2f")
    if row["method"] == "vb":
        return score
    ends = f"{text(row['lowest_repeat'], '.1f')} to {text(row['highest_repeat'], '.1f')}"
    return f"{score} ({ends})"


def _best(best: list[dict[str, Any]]) -> Table:
    return table(
        "Best rank",
        ("a", "graph", *(NAMES[method] for method in SCORING)),
        [
            (text(a, "g"), graph, *(str(row["rank"]) for row in _in_order(rows)))
            for a, of_strength in grouped(best, "a").items()
            for graph, rows in grouped(of_strength, "graph").items()
        ],
        headings=2,
    )


def abalone(result: dict[str, Any]) -> list[Table]:
    """Figure 12 as numbers, and the ages of Figure 13."""
    ages = result["ages"]
    return [
        *curves(result),
        table(
            f"Hidden classes of rank {ages['rank']}, a = {text(ages['a'], 'g')}",
            ("class", "animals", "mean rings"),
            [
                (
                    str(r + 1),
                    f"{each['animals']:,}",
                    plus_minus(each["mean_rings"], each["standard_error"], ".2f"),
                )
                for r, each in enumerate(ages["classes"])
            ],
            note=f"Kruskal-Wallis H = {ages['kruskal_wallis']:.1f}, p = {ages['probability']:.2g}.",
        ),
    ]


def letters(result: dict[str, Any]) -> list[Table]:
    """Figure 15 as numbers, and which graph is preferred."""
    return [
        *curves(result),
        table(
            "Ranks at which a graph scores higher",
            ("a", "method", "NMF", "symmetric NMF", "runs overlap"),
            [
                (
                    text(each["a"], "g"),
                    NAMES[each["method"]],
                    *(_list(each[name]) for name in ("nmf", "symmetric")),
                    "–" if each["method"] == "vb" else _list(each["not_told_apart"]),
                )
                for each in result["preferred"]
            ],
            headings=2,
            note="Published: at a = 1 NMF at every rank, at a = 0.001 symmetric NMF at almost "
            "every rank by SMC.",
        ),
    ]


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def decompositions(result: dict[str, Any]) -> list[Table]:
    """Figure 16 as numbers."""
    return [
        table(
            f"NMF of rank {result['rank']} of {result['tokens']:,} letter pairs",
            ("method", "a", "sparsity", "unscaled", "squared loss", "KL divergence"),
            [
                (
                    row["method"],
                    "–" if row["a"] is None else text(row["a"], "g"),
                    plus_minus(row["sparsity"], row["sparsity_standard_error"]),
                    text(row["unscaled_sparsity"], ".4f"),
                    plus_minus(row["squared_loss"], row["squared_loss_standard_error"], ".1f"),
                    plus_minus(row["kl_divergence"], row["kl_divergence_standard_error"], ".2f"),
                )
                for row in result["rows"]
            ],
            headings=2,
            note=f"Means ± standard errors of {result['repeats']} runs. Sparsity: Hoyer's, the "
            "columns of W scaled to sum to 1; unscaled: of factors as they come.",
        )
    ]
