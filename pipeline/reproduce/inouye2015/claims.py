"""Claims about the perplexities of Poisson MRFs, decided from the rows of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.reproduce.claims import finding
from pipeline.reproduce.experiment import number
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL
from pipeline.reproduce.inouye2015.published import N_NONZEROS
from pipeline.reproduce.tables import indexed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.reproduce.claims import Finding

PERPLEXITIES = "Published perplexities, and nonzeros, of multinomials and LPMRFs on Classic3."
LOWER = "Dependencies lower the perplexity of single models, mixtures, and few topics."
EXACT_TO = 1e-3
"""Multinomials are fitted without chance but that of k-means."""
WORSE_BY = 1.005
"""LPMRFs' partition functions are sampled."""
NONZEROS_TO = 1e-3
SURE = 2.0
"""Standard errors, over documents."""
PARTS = ("test", "train")


def findings(result: Any) -> Iterator[Finding]:
    """Decide the claims; places are models."""
    rows = result["rows"]
    of = indexed(rows, "kind", "base", "topics")
    fields = [row for row in rows if row["base"] == FIELDS]
    if result["corpus"]["is_classic3"]:
        yield from _against_published(rows, of)
    yield finding(
        "lpmrf-below-multinomial",
        "LPMRF below Multinomial of its kind, by the published measure",
        [
            _name(row)
            for row in fields
            if row["kind"] != "gibbs"
            and row["test"] >= of[row["kind"], MULTINOMIAL, row["topics"]]["test"]
        ],
        LOWER,
    )
    few, single = of["single", FEW, 1], of["single", FIELDS, 1]
    yield finding(
        "fewer-temperatures-higher",
        "single LPMRF: with fewer temperatures the envelope, and the perplexity, is higher",
        [_name(few)] if few["nonzeros"] and few["test"] <= single["test"] else [],
    )
    topic_models = [row for row in fields if row["kind"] == "topics"]
    if topic_models:
        yield finding(
            "topic-model-below-lda",
            "LPMRF topic model below LDA by the published measure, as published for few topics",
            [
                f"K = {row['topics']}"
                for row in topic_models
                if row["test"] >= of["gibbs", MULTINOMIAL, row["topics"]]["test"]
            ],
            LOWER,
        )
    for each in result["differences"]:
        nats, error = number(each["nats_per_word"]), number(each["standard_error"])
        first = _name({"model": each["first"], "topics": each["topics"]})
        yield finding(
            "likelier",
            f"{first}: likelier than {each['second']}, by {SURE:g} errors",
            [] if nats < -SURE * error else [f"{nats:+.4f} ± {error:.4f}"],
        )
    lack = "log_partition_too_low_by"
    yield finding(
        "partition-functions-possible",
        "partition functions no lower than the term of one document of two words",
        [f"{_name(row)} (by {row[lack]:.0f} nats)" for row in rows if row[lack]],
    )
    if result["selections"]:
        yield finding(
            "selection-inside-grid",
            "the selected lambda has others at both sides",
            [f"{s['kind']}, K = {s['topics']}" for s in result["selections"] if _is_at_edge(s)],
        )


def _name(row: Any) -> str:
    return str(row["model"]) + (f", K = {row['topics']}" if row["topics"] > 1 else "")


def _is_at_edge(selection: Any) -> bool:
    tried = [i for i, pairs in enumerate(selection["pairs_of_words"]) if pairs >= 0]
    return selection["penalties"].index(selection["penalty"]) in (tried[0], tried[-1])


def _against_published(rows: list[Any], of: dict[Any, Any]) -> Iterator[Finding]:
    known = [row for row in rows if row["published"]]
    yield finding(
        "multinomials-as-published",
        f"Multinomials as published, to {EXACT_TO:g}",
        [
            f"{_name(row)} ({row['test']:.4f}, {row['train']:.4f})"
            for row in known
            if row["base"] == MULTINOMIAL
            and any(abs(row[part] - row["published"][part]) > EXACT_TO for part in PARTS)
        ],
        PERPLEXITIES,
    )
    yield finding(
        "lpmrfs-as-published",
        f"LPMRFs as published or better, test and training, but for {WORSE_BY - 1:.1%}",
        [
            f"{_name(row)} ({row['test']:.3f}, {row['train']:.3f})"
            for row in known
            if row["base"] == FIELDS
            and any(row[part] > WORSE_BY * row["published"][part] for part in PARTS)
        ],
        PERPLEXITIES,
    )
    single, few = of["single", FIELDS, 1], of["single", FEW, 1]
    if single["from"] != "published":
        return
    difference = abs(single["nonzeros"] - N_NONZEROS)
    yield finding(
        "nonzeros-as-published",
        f"single LPMRF: nonzeros as published, to {NONZEROS_TO:.1%}",
        [f"{single['nonzeros']:,}"] if difference > NONZEROS_TO * N_NONZEROS else [],
        PERPLEXITIES,
    )
    theirs = single["published"]
    yield finding(
        "nearer-with-few-temperatures",
        "single LPMRF: nearer to the published with few temperatures",
        [
            title
            for part, title in zip(PARTS, ("test", "training"), strict=True)
            if abs(few[part] - theirs[part]) >= abs(single[part] - theirs[part])
        ],
    )
