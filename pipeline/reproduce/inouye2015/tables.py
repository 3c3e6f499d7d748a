"""Tables and headlines of the experiments of Inouye et al. 2015, from results as JSON has them."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.dependencies import WITHIN
from pipeline.reproduce.inouye2015.models import FIELDS, MULTINOMIAL
from pipeline.reproduce.old_tables import Headline, Table, grouped, plus_minus, table, text

SYMBOLS = {"n_docs": "n", "n_words": "p", "n_topics": "k", "nonzeros": "nonzeros of Φ"}
PARTS = {
    "regressions": "Seconds of p regressions of n documents",
    "matrices": "Seconds of topic matrices of n documents",
    "annealing": "Seconds of annealing",
}


def perplexities(result: dict[str, Any]) -> list[Table]:
    """Figure 3 as numbers, and what models gain on one another."""
    corpus = result["corpus"]
    models = table(
        f"Perplexity of {corpus['test_documents']:,} test documents of {corpus['name']}",
        (
            *("model", "K", "λ", "c", "nonzeros", "test", "training"),
            *("test", "training", "Figure 3"),
            *("of counts", "in order", "lack, nats"),
        ),
        [_model(row) for row in result["rows"]],
        groups=(("", 5), ("ours, published measure", 2), ("published", 3), ("ours, likelihood", 3)),
        headings=2,
        note=f"{corpus['words']:,} words, {corpus['test_tokens']:,} test tokens. "
        "Published measure: counts of words, tokens shared out at their best, which is no "
        "likelihood. Likelihood: summed over clusters or topics; ± over documents. Lack: what the "
        "log-partition function is too low by at least; above 0 no figure of the row is of "
        "probabilities that sum to 1.",
    )
    if not result["differences"]:
        return [models]
    gains = table(
        "More nats a word than the other model",
        ("model", "the other", "K", "more nats a word"),
        [
            (
                each["first"],
                each["second"],
                str(each["topics"]),
                plus_minus(each["nats_per_word"], each["standard_error"]),
            )
            for each in result["differences"]
        ],
        headings=2,
        note="± over documents, paired; below 0 the first model is the better one.",
    )
    return [models, gains]


def _model(row: dict[str, Any]) -> list[str]:
    theirs, summed = row["published"] or {}, row["likelihood"] or {}
    return [
        row["model"],
        str(row["topics"]),
        text(row["penalty"], ".5f"),
        text(row["length_scale"], "g"),
        f"{row['nonzeros']:,}",
        text(row["test"], ".4f"),
        text(row["train"], ".4f"),
        text(theirs.get("test"), "g"),
        text(theirs.get("train"), "g"),
        text(row["figure_3"], "g"),
        text(summed.get("bag_perplexity"), ".3f"),
        plus_minus(summed.get("perplexity"), summed.get("standard_error"), ".1f"),
        text(row["log_partition_too_low_by"], ".1f"),
    ]


def perplexities_headline(result: dict[str, Any]) -> Headline:
    """The single models, by the published measure."""
    single = {row["base"]: row for row in result["rows"] if row["kind"] == "single"}
    ours = [single[base]["test"] for base in (MULTINOMIAL, FIELDS)]
    published = lpmrf_published.FIGURE_3[result["name"]]
    theirs = [
        (single[base]["published"] or {}).get("test", published[base])
        for base in (MULTINOMIAL, FIELDS)
    ]
    return Headline(
        f"test perplexity of {result['corpus']['name']}, published measure: multinomial, LPMRF",
        " → ".join(f"{each:.2f}" for each in ours),
        " → ".join(f"{each:g}" for each in theirs),
    )


def dependencies(result: dict[str, Any]) -> list[Table]:
    """Words and dependencies of each topic, and how many of the published are among them."""
    topics = [
        table(
            f"Topic {row['topic']}, {row['prevalence']:.1%} of tokens",
            ("", "top words", "positive", "negative"),
            [
                (str(n + 1), *cells)
                for n, cells in enumerate(
                    zip_longest(
                        row["words"],
                        (f"{each['first']}+{each['second']}" for each in row["positive"]),
                        (f"{each['first']}−{each['second']}" for each in row["negative"]),
                        fillvalue="",
                    )
                )
            ],
            note=f"{row['dependencies']:,} dependencies, the strongest by Φ.",
        )
        for row in result["rows"]
    ]
    if not result["published"]:
        return topics
    found = table(
        "Of what is published of a topic, among our first",
        ("published topic", "ranked by", "kind", "published", *map(str, WITHIN)),
        [
            (
                str(each["published_topic"] + 1),
                each["by"],
                each["kind"],
                str(each["of"]),
                *(str(each["found"][str(within)]) for within in WITHIN),
            )
            for each in result["published"]
        ],
        headings=3,
    )
    return [found, *topics]


def dependencies_headline(result: dict[str, Any]) -> Headline:
    """How many of the published dependencies are among the first of ours."""
    within = WITHIN[-1]
    what = f"published words, positive, negative dependencies among our first {within}"
    found = {
        kind: [row for row in rows if row["by"] == "weight"]
        for kind, rows in grouped(result["published"], "kind").items()
    }
    if not found:
        return Headline(what, "not compared: words of the table are missing", "30, 30, 30")
    return Headline(
        what,
        ", ".join(str(sum(row["found"][str(within)] for row in rows)) for rows in found.values()),
        ", ".join(str(sum(row["of"] for row in rows)) for rows in found.values()),
    )


def scaling(result: dict[str, Any]) -> list[Table]:
    """Figure 4 as numbers: exponents, and the seconds that they are fitted to."""
    exponents = table(
        "Exponents of seconds",
        ("part", "of", "ours", "published"),
        [
            (
                each["part"],
                SYMBOLS[each["of"]],
                plus_minus(each["exponent"], each["standard_error"], ".2f"),
                _PUBLISHED.get((each["part"], each["of"]), "–"),
            )
            for each in result["powers"]
        ],
        headings=2,
        note=f"{result['threads']} threads on {result['cores']} cores.",
    )
    seconds = []
    for part, rows in grouped(result["rows"], "part").items():
        names = [name for name in SYMBOLS if any(row[name] for row in rows)]
        seconds.append(
            table(
                PARTS[part],
                (*(SYMBOLS[name] for name in names), "seconds"),
                [
                    (*(f"{row[name]:,}" for name in names), text(row["seconds"], ".3f"))
                    for row in rows
                ],
                headings=len(names),
            )
        )
    return [exponents, *seconds]


_PUBLISHED = {
    ("regressions", "n_docs"): "1",
    ("regressions", "n_words"): "1",
    ("matrices", "n_docs"): "1",
    ("matrices", "n_words"): "1",
    ("matrices", "n_topics"): "2",
    ("annealing", "nonzeros"): "1",
    ("annealing", "n_words"): "0",
}


def scaling_headline(result: dict[str, Any]) -> Headline:
    """How the regressions grow."""
    ours = [
        f"{SYMBOLS[each['of']]}^{text(each['exponent'], '.2f')}"
        for each in result["powers"]
        if each["part"] == "regressions"
    ]
    return Headline("growth of the seconds of regressions", " ".join(ours), "n^1 p^1, at most")
