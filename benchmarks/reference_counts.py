"""The counts that model benchmarks share: 25,000 and 2,500 Wikipedia articles over 10,337 words."""

from __future__ import annotations

import os
from pathlib import Path

from scipy import sparse

SHARED = Path(os.environ.get("WIKITOPICS_SHARED", Path(__file__).parents[2] / "shared"))
FOLDER = SHARED / "data" / "wikipedia-2019"


def reference_counts() -> tuple[sparse.csr_array, sparse.csr_array]:
    """Training (25,000 × 10,337) and test (2,500 × 10,337) counts.

    Raises
    ------
    SystemExit
        If they are not here.
    """
    try:
        train = sparse.load_npz(FOLDER / "bow_train_25000.npz")
        test = sparse.load_npz(FOLDER / "bow_test_2500.npz")
    except FileNotFoundError as error:
        raise SystemExit(
            f"{error.filename} is not here: set WIKITOPICS_SHARED to the folder that holds "
            "data/wikipedia-2019"
        ) from error
    return sparse.csr_array(train), sparse.csr_array(test)
