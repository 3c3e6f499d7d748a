"""Published figures of Inouye et al. 2015 (Sec. 4, Fig. 3), and the split of documents they need.

Those of Classic3 are what the authors' code arrives at on its 3,890 documents, 1,000 words and
187,640 tokens, split by `authors_split`; Fig. 3 shows them rounded. Those of Wikipedia are of a
collection that was not published.
"""

import numpy as np
from scipy import sparse

SHAPE, N_TOKENS = (3890, 1000), 187_640  # Shape and tokens of Classic3, by which it is recognised
# Test and training documents of Classic3, by kind, base and number of topics
PERPLEXITY: dict[tuple[str, str, int], tuple[float, float]] = {
    ("single", "multinomial", 1): (47.3477, 46.3678),
    ("mixture", "multinomial", 3): (30.2664, 29.5734),
    ("topics", "multinomial", 3): (30.0307, 29.4082),
    ("single", "fields", 1): (33.89, 27.84),
    ("mixture", "fields", 3): (26.40, 21.88),
    ("topics", "fields", 3): (26.50, 23.32),
}
# λ and c of these fields, by kind and number of topics
CHOSEN: dict[tuple[str, int], tuple[float, float]] = {
    ("single", 1): (0.00297635, 2.0),
    ("mixture", 3): (0.00615848, 1.25),
    ("topics", 3): (0.00885867, 1.5),
}
N_NONZEROS = 78_396  # Nonzeros of Φ of the single field; each pair of words counts twice
FIGURE_3: dict[str, dict[str, float]] = {  # Test perplexity of the single models
    "lpmrf-classic3": {"multinomial": 47.0, "fields": 34.0},
    "lpmrf-wikipedia": {"multinomial": 9.3, "fields": 7.9},
}
ANY_WIKIPEDIA = "a part of Wikipedia that was not published"
FOLD = 10  # One document in so many is held out


def authors_split(counts: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return training and test documents in the order in which the authors' code draws them. Only
    their generator, of an older interface, makes the split again.
    """
    n_docs = counts.shape[0]
    order = np.argsort(np.random.RandomState(1).rand(n_docs))
    test, train = np.split(order, [n_docs // FOLD])
    return sparse.csr_array(counts[train]), sparse.csr_array(counts[test])
