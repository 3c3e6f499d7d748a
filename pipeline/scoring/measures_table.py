"""Result of `evaluate --measures` as text."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pipeline.scoring.label_figures import ACCURACY
from pipeline.scoring.table import counted

WIDTH = 110  # Characters of a line of the table
MANY_UNSEEN = 0.1  # Share of unseen pairs above which a warning is printed
FEW_KNOWN = 0.5  # Share of known words below which a warning is printed
SHOWN = 28  # Characters of a name of a model in the table, if that tells it from the others
MEANINGS = {
    "nats a word": "held-out likelihood, the lower the better; perplexity is its exponential",
    "c_npmi": "coherence of top words in {coherence_in}, from -1 to 1; ± over its documents",
    "diversity": "share of distinct words among the {diversity_words} top words of all topics",
    "exclusivity": "mean share of a topic in its top words, all topics alike",
    "cosine": "mean largest cosine of a topic with one of another model",
    "rbo": "rank-biased overlap of the top words of matched topics",
    "found again": "share of topics whose partner in another model has a cosine of 0.9",
    "purity": "share of documents with the most frequent label of their best topic",
    "nmi": "normalised mutual information of best topics and labels, less its bias",
    "ari": "adjusted Rand index of best topics and labels",
    "homogeneity": "1 if each best topic has documents of one label only, less its bias",
    "accuracy": "of labels predicted from shares of topics, cross-validated",
}


def print_measures(result: dict[str, Any]) -> None:
    """Print the table, and for each measure the best model and which others are told apart."""
    rows = result["models"]
    measures = list(dict.fromkeys(m for row in rows for m in row["figures"]))
    print(f"{counted(result['documents'], 'document')} of {result['scored']}, ", end="")
    method = result["method"]
    left_out = result["left_out"]
    scored = f"{method} of {result['tokens_scored']:,} tokens; " if method else ""
    print(f"{scored}± is a standard error, over documents in {result['groups']} groups")
    if left_out:
        print(f"left out: {counted(left_out, 'document')} that a run was trained with")
    if result["labels"]:
        n_labelled = counted(result["labelled_documents"])
        print(f"labels: {n_labelled} with {result['labels']} labels")
    _print_figures(result, rows, measures)
    _print_reasons(rows, measures)
    for warning in warnings_of(result):
        print(warning)
    print()
    for measure in measures:
        print(f"{measure}: {MEANINGS[measure].format(**result)}")
        if measure in result["comparisons"]:
            _print_comparison(result["comparisons"][measure], _shown_names(rows))


def warnings_of(result: dict[str, Any]) -> Iterator[str]:
    """Yield sentences on top words that the documents lack, or have never together."""
    shown = _shown_names(result["models"])
    for row in result["models"]:
        if row["known_words"] is not None and row["known_words"] < FEW_KNOWN:
            yield (
                f"{shown[row['model']]}: {row['known_words']:.0%} of its top words occur in "
                f"{result['coherence_in']}: are their words counted alike?"
            )
        if (row["unseen_pairs"] or 0.0) > MANY_UNSEEN:
            yield (
                f"{shown[row['model']]}: {row['unseen_pairs']:.0%} of the pairs of its top words "
                f"are never together in {result['coherence_in']}: c_npmi, -1 for each, is too low "
                "for so few documents"
            )


def _print_figures(result: dict[str, Any], rows: list[dict[str, Any]], measures: list[str]) -> None:
    shown = _shown_names(rows)
    names = [shown[row["model"]] for row in rows]
    cells = [[_cell(row["figures"].get(measure)) for measure in measures] for row in rows]
    on_words = result["accuracy_on_words"]
    if on_words is not None and ACCURACY in measures:
        names.append("words (tf-idf)")
        cells.append(["" if m != ACCURACY else _cell(on_words) for m in measures])
    heads = [_marked(measure, rows) for measure in measures]
    widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(heads)]
    width = max(5, *map(len, names))
    for first, last in _parts(widths, WIDTH - width):
        print()
        for name, row in (("model", heads), *zip(names, cells, strict=True)):
            fields = zip(row[first:last], widths[first:last], strict=True)
            line = "  ".join(f"{cell:>{w}s}" for cell, w in fields)
            if line.strip():
                print(f"{name:{width}s}  {line}".rstrip())
    marks = {"*": "± over topics, not paired", "°": "± over models, not paired"}
    notes = [f"{mark} {what}" for mark, what in marks.items() if any(mark in h for h in heads)]
    if notes:
        print("; ".join(notes))


def _parts(widths: list[int], most: int) -> list[tuple[int, int]]:
    """Return bounds of columns that fit beside each other, at least one each."""
    bounds, first, used = list[tuple[int, int]](), 0, 0
    for i, width in enumerate(widths):
        if i > first and used + width + 2 > most:
            bounds.append((first, i))
            first, used = i, 0
        used += width + 2
    return [*bounds, (first, len(widths))]


def _marked(measure: str, rows: list[dict[str, Any]]) -> str:
    over = {row["figures"][measure]["over"] for row in rows if measure in row["figures"]}
    return measure + ("*" if "topics" in over else "°" if "models" in over else "")


def _print_reasons(rows: list[dict[str, Any]], measures: list[str]) -> None:
    """Print why values or errors are missing: a line for each model and reason."""
    shown = _shown_names(rows)
    for row in rows:
        reasons: dict[tuple[str, str], list[str]] = {}
        for measure in measures:
            figure = row["figures"].get(measure)
            if figure is not None and figure["why"]:
                what = "" if figure["value"] is None else "standard error of "
                reasons.setdefault((what, figure["why"]), []).append(measure)
        for (what, why), some in reasons.items():
            print(f"{shown[row['model']]} has no {what}{', '.join(some)}: {why}")


def _print_comparison(comparison: dict[str, Any], shown: dict[str, str]) -> None:
    print(f"  best: {shown[comparison['best']]}")
    for told, what in ((True, "worse"), (False, "not told apart")):
        some = [
            f"{shown[row['model']]} {_difference(row)}"
            for row in comparison["against"]
            if row["told_apart"] == told
        ]
        if some:
            print(f"  {what}: {'; '.join(some)}")


def _difference(row: dict[str, Any]) -> str:
    error = row["standard_error"]
    spread = "no error" if error is None else f"± {error:.2g}"
    return f"{row['difference']:+.{_digits(error)}f} {spread}"


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["value"] is None:
        return "–"
    value, error = figure["value"], figure["standard_error"]
    digits = _digits(error)
    return f"{value:.{digits}f} ± " + ("–" if error is None else f"{error:.{digits}f}")


def _digits(error: float | None) -> int:
    """Return decimals that show two digits of the error, from 2 to 5."""
    if not error:
        return 3
    return min(5, max(2, 1 - math.floor(math.log10(error))))


def _shown_names(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name that is printed for each row: a short one, if no other row has it too."""
    short = {row["model"]: _short(row["members"]) for row in rows}
    n_rows = Counter(short.values())
    return {
        row["model"]: name if n_rows[name := short[row["model"]]] == 1 else _whole(row["members"])
        for row in rows
    }


def _whole(members: list[str]) -> str:
    return " + ".join(members)


def _short(members: list[str]) -> str:
    name = _whole(members)
    if len(name) > SHOWN and len(members) > 1:
        name = f"{members[0]} + {len(members) - 1} more"
    return name if len(name) <= SHOWN else f"…{name[1 - SHOWN :]}"
