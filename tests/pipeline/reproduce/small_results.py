"""A result of every experiment, each run on a scale far below quick.

`python -m tests.pipeline.reproduce.small_results` writes them anew to `small_results.json`.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack, chdir
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from scipy import sparse

import pipeline.reproduce.run as command
from pipeline.reproduce.inouye2015 import dependencies as lpmrf_dependencies
from pipeline.reproduce.inouye2015 import perplexity as lpmrf_perplexity
from pipeline.reproduce.inouye2015 import scaling as lpmrf_scaling
from pipeline.reproduce.settings import EXPERIMENTS, ReproduceSettings
from tests.pipeline.reproduce.aldebakel2022.test_experiments import OPTIONS as OF_THEMES
from tests.pipeline.reproduce.aldebakel2022.test_experiments import write_themes
from tests.pipeline.reproduce.inouye2015.test_dependencies import PUBLISHED_WORDS, drawn_counts
from tests.pipeline.reproduce.inouye2015.test_perplexity import SMALL as SMALL_PERPLEXITY
from tests.pipeline.reproduce.inouye2015.test_perplexity import documents
from tests.pipeline.reproduce.inouye2015.test_scaling import SMALL as SMALL_SCALING
from tests.pipeline.reproduce.support import SMALL, few_counts, write_tables

STORED = Path(__file__).with_suffix(".json")
PROTOCOLS: dict[Any, Any] = {lpmrf_scaling: SMALL_SCALING}
_PERPLEXITY = {"counts": "documents.npz", "topics": 2, "penalty": 0.1, "length_scale": 1.5}
OPTIONS: dict[str, dict[str, Any]] = {
    "aldebakel-trainers": OF_THEMES,
    "aldebakel-topics": OF_THEMES,
    "buntine-table-1": {"pairs": 4},
    "l2r-kl": {"counts": "few.npz"},
    "l2r-convergence": {"counts": "few.npz"},
    "bam-abalone": {"table": "abalone.csv"},
    "bam-letters": {"table": "pairs.csv"},
    "bam-decompositions": {"table": "pairs.csv"},
    "lpmrf-classic3": _PERPLEXITY,
    "lpmrf-wikipedia": _PERPLEXITY,
    "lpmrf-dependencies": {"counts": "counts.npz", "penalty": 0.1, "length_scale": 1.5},
    "lpmrf-scaling": {"counts": "counts.npz"},
}


def settings_of(experiment):
    return ReproduceSettings(threads=1, **OPTIONS.get(experiment, {}))


def small_results(directory):
    """Run all of them there, without pictures; by experiment what is in the JSON files."""
    _write_data(directory)
    with ExitStack() as stack:
        stack.enter_context(chdir(directory))
        for module, protocol in PROTOCOLS.items():
            stack.enter_context(mock.patch.object(module, "protocol", _given(protocol)))
        for target, name, value in (
            (command, "write_figures", lambda *_: []),
            *((module, *each) for module, values in SMALL.items() for each in values.items()),
            (lpmrf_perplexity, "QUICK", {"budget": SMALL_PERPLEXITY}),
            (lpmrf_scaling, "MIN_SECONDS", 0.0),
        ):
            stack.enter_context(mock.patch.object(target, name, value))
        few = {"n_samples": 3, "n_temperatures": 3}
        stack.enter_context(mock.patch.dict(lpmrf_dependencies.PROTOCOL, few))
        return {name: command.reproduce(settings_of(name), name) for name in EXPERIMENTS}


def _given(small):
    parts = small if isinstance(small, tuple) else (small,)

    def protocol(settings, *_):
        seeded = tuple(replace(part, seed=settings.seed) for part in parts)
        return seeded if isinstance(small, tuple) else seeded[0]

    return protocol


def _write_data(directory):
    write_themes(directory)
    write_tables(directory)
    sparse.save_npz(directory / "few.npz", few_counts())
    sparse.save_npz(directory / "documents.npz", documents())
    counts = sparse.hstack([drawn_counts()] * (len(PUBLISHED_WORDS) // 9 + 1), format="csr")
    sparse.save_npz(directory / "counts.npz", counts[:, : len(PUBLISHED_WORDS)])
    (directory / "counts.vocab").write_text("".join(f"{word}\n" for word in PUBLISHED_WORDS))


def shape_of(value):
    """Names and kinds of values of JSON, of lists those of all entries; numbers are one kind."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        shapes = []
        for each in map(shape_of, value):
            if each not in shapes:
                shapes.append(each)
        return shapes
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = small_results(Path(place))
    rounded = json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.5g}"))
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in rounded.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
