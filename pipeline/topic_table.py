"""The topics of a model as rows, and as a table that fits a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from models import SavedModel


def topic_rows(model: SavedModel, n_words: int) -> list[dict[str, Any]]:
    """A row a topic, the most prevalent first: its number, share of tokens and top words."""
    order: list[int] = list(range(model.topics.n_topics))
    if model.prevalence is not None:
        order = [int(k) for k in np.argsort(-model.prevalence, kind="stable")]
    top = model.topics.top_words(n_words)
    return [
        {
            "topic": k,
            "prevalence": None if model.prevalence is None else float(model.prevalence[k]),
            "words": [model.vocabulary[w] for w in top[k]],
            "probabilities": [float(p) for p in model.topics.topic_word[k, top[k]]],
        }
        for k in order
    ]


def format_topics(rows: list[dict[str, Any]]) -> str:
    """The rows as lines of text: topic number, share of tokens, words."""
    lines = ["topic  share  words"]
    for row in rows:
        share = "     -" if row["prevalence"] is None else f"{row['prevalence']:6.1%}"
        lines.append(f"{row['topic']:5d} {share}  {' '.join(row['words'])}")
    return "\n".join(lines)
