"""Published figures of the perplexity experiments of Inouye et al. 2015 (Sec. 4, Fig. 3).

Those of Classic3 are what the authors' code arrives at on its 3,890 documents, 1,000 words and
187,640 tokens, split by `published_split`; Fig. 3 shows them rounded. Those of Wikipedia are of a
collection that was not published.
"""

from __future__ import annotations

SHAPE, N_TOKENS = (3890, 1000), 187_640
"""Of Classic3, by which it is known again."""

PERPLEXITY: dict[tuple[str, str, int], tuple[float, float]] = {
    ("single", "multinomial", 1): (47.3477, 46.3678),
    ("mixture", "multinomial", 3): (30.2664, 29.5734),
    ("topics", "multinomial", 3): (30.0307, 29.4082),
    ("single", "fields", 1): (33.89, 27.84),
    ("mixture", "fields", 3): (26.40, 21.88),
    ("topics", "fields", 3): (26.50, 23.32),
}
"""Of test and training documents of Classic3, by kind, base and number of topics."""

CHOSEN: dict[tuple[str, int], tuple[float, float]] = {
    ("single", 1): (0.00297635, 2.0),
    ("mixture", 3): (0.00615848, 1.25),
    ("topics", 3): (0.00885867, 1.5),
}
"""λ and c of these fields, by kind and number of topics."""

N_NONZEROS = 78_396
"""Of Φ of the single field; each pair of words counts twice."""

FIGURE_3: dict[str, dict[str, float]] = {
    "lpmrf-classic3": {"multinomial": 47.0, "fields": 34.0},
    "lpmrf-wikipedia": {"multinomial": 9.3, "fields": 7.9},
}
"""Test perplexity of the single models."""
ANY_WIKIPEDIA = "a part of Wikipedia that was not published"
