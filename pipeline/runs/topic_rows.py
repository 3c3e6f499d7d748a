"""Rows of topics: number, share of tokens, top words, dependencies; and the rows as lines."""

import textwrap
from dataclasses import asdict
from typing import Any

import numpy as np

from models import SavedModel
from pipeline.runs.chain_stability import found_again
from pipeline.runs.coherence_lines import format_coherence
from pipeline.runs.word_dependencies import N_DEPENDENCIES, strongest_dependencies

WIDTH = 100  # Longest line of dependencies, in columns


def topic_rows(
    model: SavedModel, n_words: int, n_dependencies: int = N_DEPENDENCIES, by: str = "weight"
) -> list[dict[str, Any]]:
    """Return a row for each topic, most prevalent first: number, share of tokens, top words.

    Rows of Poisson MRFs also have up to `n_dependencies` `positive` and `negative` dependencies;
    those of a run with chains have `stability`, in how many chains the topic is found again.
    """
    order: list[int] = list(range(model.topics.n_topics))
    if model.prevalence is not None:
        order = [int(k) for k in np.argsort(-model.prevalence, kind="stable")]
    top = model.topics.top_words(n_words)
    dependencies = strongest_dependencies(model, n_dependencies, by) if n_dependencies else None
    again = found_again(model)
    return [
        {
            "topic": k,
            "prevalence": None if model.prevalence is None else float(model.prevalence[k]),
            "words": [model.vocabulary[w] for w in top[k]],
            "probabilities": [float(p) for p in model.topics.topic_word[k, top[k]]],
        }
        | ({} if again is None else {"stability": asdict(again[k])})
        | ({} if dependencies is None else asdict(dependencies[k]))
        for k in order
    ]


def format_topics(rows: list[dict[str, Any]]) -> str:
    """Format rows as lines: topic number, share of tokens, words; then dependencies.

    With chains, the number of those in which a topic is found again stands before its words, and
    its mean cosine with the chains' topics, with the standard error. Then comes the coherence, with
    a standard error where there is one, if rows have it.
    """
    has_chains, has_coherence = (
        bool(rows) and name in rows[0] for name in ("stability", "coherence")
    )
    columns = ("found again  cosine ± s.e.  " if has_chains else "") + (
        "coherence ± s.e.  " if has_coherence else ""
    )
    lines = [f"topic  share  {columns}words"]
    for row in rows:
        share = "     -" if row["prevalence"] is None else f"{row['prevalence']:6.1%}"
        again = _found_again(row["stability"]) if has_chains else ""
        coherence = _coherence(row["coherence"]) if has_coherence else ""
        lines.append(f"{row['topic']:5d} {share}  {again}{coherence}{' '.join(row['words'])}")
        if "positive" in row:
            lines += _dependency_lines(row)
    return "\n".join(lines)


def _found_again(figures: dict[str, Any]) -> str:
    found = f"{figures['found']} of {figures['chains']}"
    return f"{found:>11}  {figures['cosine']:6.3f} ± {figures['standard_error']:.3f}  "


def _coherence(figures: dict[str, Any]) -> str:
    value, _, error = format_coherence(figures["value"], figures["standard_error"]).partition(" ")
    return f"{value:>8} {error:7}  "


def _dependency_lines(row: dict[str, Any]) -> list[str]:
    """Format pairs of words: positive dependencies after +, negative ones after -."""
    if not row["positive"] and not row["negative"]:
        return [" " * 14 + "(no dependencies)"]
    lines = []
    for sign, pairs in (("+", row["positive"]), ("-", row["negative"])):
        text = " ".join(f"{each['first']}{sign}{each['second']}" for each in pairs)
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=" " * 11 + sign + "  ",
            subsequent_indent=" " * 14,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines
