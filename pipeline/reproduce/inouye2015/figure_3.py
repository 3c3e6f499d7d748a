"""Figure 3 of Inouye et al. 2015: tables, claims and bars of perplexities, from rows of models."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from pipeline.figures.style import INK, bar_style
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import number
from pipeline.reproduce.inouye2015.models import BASES, FEW, FIELDS, MULTINOMIAL
from pipeline.reproduce.inouye2015.published import N_NONZEROS
from pipeline.reproduce.tables import Column, Headline, Table, indexed

PERPLEXITIES = "Published perplexities, and nonzeros, of multinomials and LPMRFs on Classic3."
LOWER = "Dependencies lower the perplexity of single models, mixtures, and few topics."
EXACT_TO = 1e-3  # Tolerance of multinomials: nothing but k-means is random
WORSE_BY = 1.005  # Tolerance of LPMRFs, whose partition functions are sampled
NONZEROS_TO = 1e-3
SURE = 2.0  # Standard errors, over documents
PARTS = {"test": "test", "train": "training"}
# Entries of the legend, by whether a model is by Gibbs sampling, and its base
LABELS = {(False, base): title for base, title in BASES.items()} | {
    (True, MULTINOMIAL): "LDA, Gibbs sampling",
    (True, FIELDS): "LPMRF, Gibbs sampling",
}
WIDTH = 0.2


def tables(result: Any) -> list[Table]:
    """Return the models, their differences, and the selections of λ and c."""
    corpus = result["corpus"]
    parts, theirs, order = PARTS.items(), "published", "likelihood.perplexity"
    measure, ours = "ours, published measure", "ours, likelihood"
    models = Table(
        f"Perplexity of {corpus['test_documents']:,} test documents of {corpus['name']}",
        (
            *(Column("model", "model"), Column("K", "topics"), Column("λ", "penalty", ".5f")),
            *(Column("c", "length_scale", "g"), Column("nonzeros", "nonzeros", ",")),
            *(Column(title, part, ".4f", group=measure) for part, title in parts),
            *(Column(title, f"published.{part}", "g", group=theirs) for part, title in parts),
            Column("Figure 3", "figure_3", "g", group=theirs),
            Column("of counts", "likelihood.bag_perplexity", ".3f", group=ours),
            Column("in order", order, ".1f", "likelihood.standard_error", ours),
            Column("lack, nats", "log_partition_too_low_by", ".1f", group=ours),
            Column("seconds", "seconds", ".1f"),
        ),
        result["rows"],
        f"{corpus['words']:,} words, {corpus['test_tokens']:,} test tokens; fitted to "
        f"{corpus['training_documents']:,} documents of {corpus['training_tokens']:,} tokens. "
        "Published measure: counts of words, tokens shared out at their best, which is no "
        "likelihood. Likelihood: summed over clusters or topics; ± over documents. Lack: what the "
        "log-partition function is too low by at least; above 0 no figure of the row is of "
        "probabilities that sum to 1.",
        headings=2,
    )
    gains = Table(
        "More nats a word than the other model",
        (
            *(Column("model", "first"), Column("the other", "second"), Column("K", "topics")),
            Column("more nats a word", "nats_per_word", "+.4f", "standard_error"),
        ),
        result["differences"],
        "± over documents, paired; below 0 the first model is the better one.",
        headings=2,
    )
    selections = []
    for each in result["selections"]:
        scales = enumerate(each["length_scales"], start=1)
        title = f"Validation perplexity over λ and c: {each['kind']}, K = {each['topics']}"
        columns = (Column(f"c = {c:g}", itemgetter(n), ".3f") for n, c in scales)
        table = zip(each["penalties"], each["perplexity"], strict=True)
        rows = [(penalty, *row) for penalty, row in table]
        selections.append(Table(title, (Column("λ", itemgetter(0), ".6f"), *columns), rows))
    return [models, *([gains] if result["differences"] else []), *selections]


def headline(result: Any) -> Headline:
    """Return the single models, by the published measure."""
    of = {row["base"]: row for row in result["rows"] if row["kind"] == "single"}
    singles = [of[MULTINOMIAL], of[FIELDS]]
    theirs = [(row["published"] or {}).get("test", row["figure_3"]) for row in singles]
    return Headline(
        f"test perplexity of {result['corpus']['name']}, published measure: multinomial, LPMRF",
        " → ".join(f"{row['test']:.2f}" for row in singles),
        " → ".join(f"{each:g}" for each in theirs),
    )


def findings(result: Any) -> Findings:
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
    said = "LPMRF below Multinomial of its kind, by the published measure"
    yield Finding("lpmrf-below-multinomial", said, above, LOWER)
    fails = few["nonzeros"] and few["test"] <= single["test"]
    said = "single LPMRF: with fewer temperatures the envelope, and the perplexity, is higher"
    yield Finding("fewer-temperatures-higher", said, [_name(few)] if fails else [])
    topic_models = [row for row in fields if row["kind"] == "topics"]
    if topic_models:
        above = [f"K = {row['topics']}" for row in topic_models if is_above(row, "gibbs")]
        said = "LPMRF topic model below LDA by the published measure, as published for few topics"
        yield Finding("topic-model-below-lda", said, above, LOWER)
    for each in result["differences"]:
        nats, error = number(each["nats_per_word"]), number(each["standard_error"])
        first = _name({"model": each["first"], "topics": each["topics"]})
        said = f"{first}: likelier than {each['second']}, by {SURE:g} errors"
        unsure = [] if nats < -SURE * error else [f"{nats:+.4f} ± {error:.4f}"]
        yield Finding("likelier", said, unsure)
    missing = {_name(row): row["log_partition_too_low_by"] for row in rows}
    low = [f"{name} (by {nats:.0f} nats)" for name, nats in missing.items() if nats]
    said = "partition functions no lower than the term of one document of two words"
    yield Finding("partition-functions-possible", said, low)
    if result["selections"]:
        edge = [f"{s['kind']}, K = {s['topics']}" for s in result["selections"] if _is_at_edge(s)]
        said = "the selected lambda has others at both sides"
        yield Finding("selection-inside-grid", said, edge)


def _name(row: Any) -> str:
    return str(row["model"]) + (f", K = {row['topics']}" if row["topics"] > 1 else "")


def _is_at_edge(selection: Any) -> bool:
    tried = [i for i, pairs in enumerate(selection["pairs_of_words"]) if pairs >= 0]
    return selection["penalties"].index(selection["penalty"]) in (tried[0], tried[-1])


def _against_published(rows: list[Any]) -> Findings:
    other, worse = [], []
    for row in rows:
        ours, theirs = [[each[part] for part in PARTS] for each in (row, row["published"])]
        pairs = list(zip(ours, theirs, strict=True))
        if row["base"] == MULTINOMIAL and any(abs(x - y) > EXACT_TO for x, y in pairs):
            other.append(f"{_name(row)} ({ours[0]:.4f}, {ours[1]:.4f})")
        if row["base"] == FIELDS and any(x > WORSE_BY * y for x, y in pairs):
            worse.append(f"{_name(row)} ({ours[0]:.3f}, {ours[1]:.3f})")
    said = f"Multinomials as published, to {EXACT_TO:g}"
    yield Finding("multinomials-as-published", said, other, PERPLEXITIES)
    said = f"LPMRFs as published or better, test and training, but for {WORSE_BY - 1:.1%}"
    yield Finding("lpmrfs-as-published", said, worse, PERPLEXITIES)


def _single_against_published(single: Any, few: Any) -> Findings:
    nonzeros, theirs = single["nonzeros"], single["published"]
    is_near = abs(nonzeros - N_NONZEROS) <= NONZEROS_TO * N_NONZEROS
    said = f"single LPMRF: nonzeros as published, to {NONZEROS_TO:.1%}"
    yield Finding("nonzeros-as-published", said, [] if is_near else [f"{nonzeros:,}"], PERPLEXITIES)
    off = {name: [abs(row[name] - theirs[name]) for row in (few, single)] for name in PARTS}
    farther = [title for name, title in PARTS.items() if off[name][0] >= off[name][1]]
    said = "single LPMRF: nearer to the published with few temperatures"
    yield Finding("nearer-with-few-temperatures", said, farther)


def draw_published(figure: Any, result: Any, _: Any) -> None:
    """Draw the published measure."""
    label, title = "counts of words", "tokens shared out at their best: no likelihood"
    for axes, x, width, row in _bars(figure, result, label, title):
        axes.bar(x, row["test"], width, **_style(row))
        if row["kind"] == "single":
            axes.text(x, row["test"], f"{row['test']:.2f}", ha="center", va="bottom")
        theirs = row["published"]["test"] if row["published"] else row["figure_3"]
        if theirs is not None:
            ends = [x - width / 2, x + width / 2]
            line = {"color": INK, "linewidth": 1.5, "marker": "", "label": "published"}
            axes.plot(ends, [theirs, theirs], **line)


def draw_likelihood(figure: Any, result: Any, _: Any) -> None:
    """Draw the likelihood of tokens in order, with bars of two standard errors over documents."""
    title = "likelihood, ± 2 standard errors over documents"
    for axes, x, width, row in _bars(figure, result, "tokens in order", title):
        if row["base"] != FEW:
            error = 2 * number(row["likelihood"]["standard_error"])
            height = number(row["likelihood"]["perplexity"])
            axes.bar(x, height, width, yerr=error, ecolor=INK, **_style(row))


def _style(row: Any) -> dict[str, Any]:
    key = row["kind"] == "gibbs", row["base"]
    return bar_style(list(LABELS).index(key)) | {"label": LABELS[key]}


def _bars(figure: Any, result: Any, label: str, title: str) -> Iterator[tuple[Any, ...]]:
    """Yield axes, middle, width and row of all bars; then add a legend with a line a style. Single
    distributions are at the left; if there are others, they are over K at the right, mixtures
    before topic models.
    """
    kinds = {"mixture": "mixture", "topics": "topic model", "gibbs": "topic model"}
    single = [row for row in result["rows"] if row["kind"] == "single"]
    groups: dict[str, list[Any]] = {}
    for row in (row for row in result["rows"] if row["kind"] != "single"):
        groups.setdefault(f"{kinds[row['kind']]}\nK = {row['topics']}", []).append(row)
    if groups:
        left, last = figure.subplots(1, 2, width_ratios=(1, 2), sharey=True)
        last.set_xticks([float(at) for at in range(len(groups))], list(groups))
        last.set_title(title)
    else:
        left = last = figure.subplots()
    left.set_xticks(range(3), ["Mult", "LPMRF", "LPMRF,\nfew temp."])
    left.set(title="single", ylabel=f"test perplexity, {label}")
    figure.suptitle(result["corpus"]["name"])
    for at, row in enumerate(single):
        yield left, at, 0.8, row
    for middle, rows in enumerate(groups.values()):
        for n, row in enumerate(rows):
            yield last, middle + WIDTH * (n - (len(rows) - 1) / 2), WIDTH, row
    handles, labels = last.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    last.legend(once.values(), once.keys(), fontsize="small", framealpha=0.8)
