"""Claims about the perplexities of Poisson MRFs, decided from the rows of models."""

from collections.abc import Iterator
from typing import Any

from pipeline.reproduce.claims import Finding, finding
from pipeline.reproduce.experiment import number
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL
from pipeline.reproduce.inouye2015.published import N_NONZEROS
from pipeline.reproduce.tables import indexed

PERPLEXITIES = "Published perplexities, and nonzeros, of multinomials and LPMRFs on Classic3."
LOWER = "Dependencies lower the perplexity of single models, mixtures, and few topics."
EXACT_TO = 1e-3  # Tolerance of multinomials: nothing but k-means is random
WORSE_BY = 1.005  # Tolerance of LPMRFs, whose partition functions are sampled
NONZEROS_TO = 1e-3
SURE = 2.0  # Standard errors, over documents
PARTS = {"test": "test", "train": "training"}


def findings(result: Any) -> Iterator[Finding]:
    """Decide the claims; places are models."""
    rows = result["rows"]
    of = indexed(rows, "kind", "base", "topics")
    fields = [row for row in rows if row["base"] == FIELDS]
    single, few = of["single", FIELDS, 1], of["single", FEW, 1]
    if result["corpus"]["is_classic3"]:
        yield from _against_published([row for row in rows if row["published"]])
        if single["from"] == "published":
            yield from _single_against_published(single, few)

    def is_above(row: Any, kind: str) -> bool:
        return bool(row["test"] >= of[kind, MULTINOMIAL, row["topics"]]["test"])

    above = [_name(row) for row in fields if row["kind"] != "gibbs" and is_above(row, row["kind"])]
    text = "LPMRF below Multinomial of its kind, by the published measure"
    yield finding("lpmrf-below-multinomial", text, above, LOWER)
    fails = few["nonzeros"] and few["test"] <= single["test"]
    text = "single LPMRF: with fewer temperatures the envelope, and the perplexity, is higher"
    yield finding("fewer-temperatures-higher", text, [_name(few)] if fails else [])
    topic_models = [row for row in fields if row["kind"] == "topics"]
    if topic_models:
        above = [f"K = {row['topics']}" for row in topic_models if is_above(row, "gibbs")]
        text = "LPMRF topic model below LDA by the published measure, as published for few topics"
        yield finding("topic-model-below-lda", text, above, LOWER)
    for each in result["differences"]:
        nats, error = number(each["nats_per_word"]), number(each["standard_error"])
        first = _name({"model": each["first"], "topics": each["topics"]})
        text = f"{first}: likelier than {each['second']}, by {SURE:g} errors"
        unsure = [] if nats < -SURE * error else [f"{nats:+.4f} ± {error:.4f}"]
        yield finding("likelier", text, unsure)
    missing = {_name(row): row["log_partition_too_low_by"] for row in rows}
    low = [f"{name} (by {nats:.0f} nats)" for name, nats in missing.items() if nats]
    text = "partition functions no lower than the term of one document of two words"
    yield finding("partition-functions-possible", text, low)
    if result["selections"]:
        edge = [f"{s['kind']}, K = {s['topics']}" for s in result["selections"] if _is_at_edge(s)]
        text = "the selected lambda has others at both sides"
        yield finding("selection-inside-grid", text, edge)


def _name(row: Any) -> str:
    return str(row["model"]) + (f", K = {row['topics']}" if row["topics"] > 1 else "")


def _is_at_edge(selection: Any) -> bool:
    tried = [i for i, pairs in enumerate(selection["pairs_of_words"]) if pairs >= 0]
    return selection["penalties"].index(selection["penalty"]) in (tried[0], tried[-1])


def _against_published(rows: list[Any]) -> Iterator[Finding]:
    other, worse = [], []
    for row in rows:
        ours, theirs = [[each[part] for part in PARTS] for each in (row, row["published"])]
        pairs = list(zip(ours, theirs, strict=True))
        if row["base"] == MULTINOMIAL and any(abs(x - y) > EXACT_TO for x, y in pairs):
            other.append(f"{_name(row)} ({ours[0]:.4f}, {ours[1]:.4f})")
        if row["base"] == FIELDS and any(x > WORSE_BY * y for x, y in pairs):
            worse.append(f"{_name(row)} ({ours[0]:.3f}, {ours[1]:.3f})")
    text = f"Multinomials as published, to {EXACT_TO:g}"
    yield finding("multinomials-as-published", text, other, PERPLEXITIES)
    text = f"LPMRFs as published or better, test and training, but for {WORSE_BY - 1:.1%}"
    yield finding("lpmrfs-as-published", text, worse, PERPLEXITIES)


def _single_against_published(single: Any, few: Any) -> Iterator[Finding]:
    nonzeros, theirs = single["nonzeros"], single["published"]
    is_near = abs(nonzeros - N_NONZEROS) <= NONZEROS_TO * N_NONZEROS
    text = f"single LPMRF: nonzeros as published, to {NONZEROS_TO:.1%}"
    yield finding("nonzeros-as-published", text, [] if is_near else [f"{nonzeros:,}"], PERPLEXITIES)
    farther = [
        title
        for part, title in PARTS.items()
        if abs(few[part] - theirs[part]) >= abs(single[part] - theirs[part])
    ]
    text = "single LPMRF: nearer to the published with few temperatures"
    yield finding("nearer-with-few-temperatures", text, farther)
