"""How each experiment's result is shown: its tables, its headline, and what its pictures are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.reproduce.buntine2009 import tables as tables_lda
from pipeline.reproduce.capdevila2018 import tables as tables_gamma_poisson
from pipeline.reproduce.cemgil2019 import headlines as headlines_allocation
from pipeline.reproduce.cemgil2019 import tables as tables_allocation
from pipeline.reproduce.inouye2015 import tables as tables_poisson_mrf

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.reproduce.old_tables import Headline, Table


class Presented(NamedTuple):
    """Functions of a result, as JSON has it."""

    tables: Callable[[dict[str, Any]], list[Table]]
    headline: Callable[[dict[str, Any]], Headline]
    pictures: dict[str, str]
    """What a picture shows, by the end of its name, which begins with the name of the result."""


PRESENTED = {
    "buntine-table-1": Presented(
        tables_lda.table_1,
        tables_lda.table_1_headline,
        {"": "Errors of all pairs, a panel for each gamma"},
    ),
    "buntine-convergence": Presented(
        tables_lda.convergence,
        tables_lda.convergence_headline,
        {
            "": "Figure 1: estimates of one run against samples",
            "-close-up": "Figure 2: the same, close to the exact value",
            "-error": "Root mean square error over runs against samples, both logarithmic",
        },
    ),
    "buntine-model-selection": Presented(
        tables_lda.model_selection,
        tables_lda.model_selection_headline,
        {
            "-by-size": "Figure 3: perplexity against the size of the training part",
            "-by-topics": "Figure 5: perplexity against the number of topics",
        },
    ),
    "l2r-kl": Presented(
        tables_gamma_poisson.kl,
        tables_gamma_poisson.kl_headline,
        {
            "": "Figure 2: KL divergence against samples",
            "-error": "Root mean square log error against samples",
            "-length": "Figure 1: KL divergence over that of DS, against the length of documents",
        },
    ),
    "l2r-convergence": Presented(
        tables_gamma_poisson.convergence,
        tables_gamma_poisson.convergence_headline,
        {
            "": "Figure 3: log-likelihood against samples",
            "-seconds": "The same against seconds",
        },
    ),
    "bam-toy": Presented(
        tables_allocation.toy,
        headlines_allocation.toy,
        {
            "-X1": "Figure 9a: the matrix X1, a column for each rank",
            "-X2": "Figure 9b: the matrix X2, a column for each rank",
        },
    ),
    "bam-histogram": Presented(
        tables_allocation.histogram,
        headlines_allocation.histogram,
        {"": "Figure 5: histograms of log π(S), a panel for each a"},
    ),
    "bam-parafac": Presented(
        tables_allocation.parafac,
        headlines_allocation.parafac,
        {
            "-rank": "Figure 10a: log marginal likelihood against rank",
            "-cost": "Figure 10b: seconds against the size of the tensor",
        },
    ),
    "bam-abalone": Presented(
        tables_allocation.abalone,
        headlines_allocation.abalone,
        {
            "": "Figure 12: log marginal likelihood against rank",
            "-ages": "Figure 13: ages in each hidden class",
        },
    ),
    "bam-letters": Presented(
        tables_allocation.letters,
        headlines_allocation.letters,
        {"": "Figure 15: log marginal likelihood against rank"},
    ),
    "bam-decompositions": Presented(
        tables_allocation.decompositions,
        headlines_allocation.decompositions,
        {"": "Figure 16: sparsity, squared loss and KL divergence against a"},
    ),
    **{
        name: Presented(
            tables_poisson_mrf.perplexities,
            tables_poisson_mrf.perplexities_headline,
            {
                "": "Figure 3: test perplexity by the published measure",
                "-likelihood": "Test perplexity by the likelihood",
            },
        )
        for name in ("lpmrf-classic3", "lpmrf-wikipedia")
    },
    "lpmrf-dependencies": Presented(
        tables_poisson_mrf.dependencies,
        tables_poisson_mrf.dependencies_headline,
        {"": "The strongest dependencies of each topic as a graph of words"},
    ),
    "lpmrf-scaling": Presented(
        tables_poisson_mrf.scaling,
        tables_poisson_mrf.scaling_headline,
        {"": "Figure 4: seconds against sizes, both logarithmic"},
    ),
}
"""By experiment."""


def data_of(result: dict[str, Any]) -> str:
    """What is to be known of the data, where they are not those of the paper; else empty."""
    experiment = result["experiment"]
    if experiment == "buntine-model-selection":
        return "A drawn model in place of one learned from 50,182 news articles."
    if experiment not in _THEIRS:
        return ""
    theirs, names_of = _THEIRS[experiment]
    names = names_of(result)
    if names == ["sample"]:
        return f"Of the built-in sample in place of {theirs}."
    return f"Of {', '.join(names)}; in the paper of {theirs}." if names else ""


def is_of_sample_alone(result: dict[str, Any]) -> bool:
    """Whether perplexities of the paper's corpus stand beside those of another, which is ours.

    Then the experiment shows that it runs, and no claim on that corpus is checked by it.
    """
    is_perplexity = result["experiment"] in ("lpmrf-classic3", "lpmrf-wikipedia")
    return is_perplexity and _THEIRS[result["experiment"]][1](result) == ["sample"]


def _of_classic3(result: dict[str, Any]) -> list[str]:
    corpus = result["corpus"]
    return [] if corpus["is_classic3"] else [corpus["name"]]


_ANY_WIKIPEDIA = "a part of Wikipedia that was not published"
_THEIRS: dict[str, tuple[str, Callable[[dict[str, Any]], list[str]]]] = {
    **dict.fromkeys(
        ("l2r-kl", "l2r-convergence"),
        ("six corpora", lambda result: [each["corpus"] for each in result["corpora"]]),
    ),
    **dict.fromkeys(
        ("bam-letters", "bam-decompositions"),
        ("the letter pairs of Norvig (2013)", lambda result: [result["source"]]),
    ),
    "lpmrf-classic3": ("Classic3", _of_classic3),
    "lpmrf-wikipedia": (_ANY_WIKIPEDIA, lambda result: [result["corpus"]["name"]]),
    "lpmrf-dependencies": (
        "Classic3",
        lambda result: [result["corpus"]] if result["missing_words"] else [],
    ),
    "lpmrf-scaling": (_ANY_WIKIPEDIA, lambda result: [result["corpus"]]),
}
"""The data of the paper, and the names of those of a result; none where they are the same."""
