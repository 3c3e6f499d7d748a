from dataclasses import dataclass, replace
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from models import SavedModel
from pipeline.cache import keys
from pipeline.cache.keys import code_hash, hash_of_modules, key_of, score_key
from pipeline.settings import EvaluateSettings
from pipeline.text.held_out import HeldOut
from tests.pipeline.report.made_up_runs import (
    WORDS,
    as_gamma_poisson,
    blurred,
    made_up_corpus,
    true_topics,
)

COUNTS = sparse.csr_array(np.arange(6).reshape(2, 3))
X = np.arange(6).reshape(2, 3)


class Pair(NamedTuple):
    first: int
    second: str


@dataclass(frozen=True)
class Settings:
    size: int = 3
    names: tuple[str, ...] = ("a",)


DIFFERENT = {
    "none": None,
    "false": False,
    "zero": 0,
    "zero point": 0.0,
    "text": "0",
    "infinite": np.inf,
    "nan": np.nan,
    "list": [0],
    "lists": [[0]],
    "mapping": {"a": 0},
    "other name": {"b": 0},
    "settings": Settings(),
    "other settings": Settings(4),
    "array": X,
    "changed": X + 1,
    "other shape": X.reshape(3, 2),
    "other type": X.astype(np.int32),
    "floats": X.astype(np.float64),
    "sparse": COUNTS,
    "sparse, wider": sparse.csr_array(np.pad(X, ((0, 0), (0, 1)))),
    "sparse, changed": COUNTS + COUNTS,
    "empty": np.empty(0),
}


def test_different_parts_have_different_keys():
    found = {name: key_of("kind", part=part) for name, part in DIFFERENT.items()}
    assert len(set(found.values())) == len(DIFFERENT)
    assert all(len(key) == 64 for key in found.values())
    assert key_of("other", part=X) not in found.values()
    assert key_of("kind", another=X) not in found.values()


@pytest.mark.parametrize(
    ("one", "same"),
    [
        *((X, X.copy(order="F")), (X[:, ::2], X[:, ::2].copy()), ((1, 2), [1, 2])),
        *((Pair(1, "a"), [1, "a"]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.float64(0.1), 0.1)),
        *((np.int64(3), 3), (COUNTS, COUNTS.tocsc()), (Settings(), Settings(names=("a",)))),
    ],
    ids=str,
)
def test_equal_parts_have_one_key(one, same):
    assert key_of("kind", part=one) == key_of("kind", part=same)


@pytest.mark.parametrize("part", [object(), {1: 2}, np.array([object()]), b"", Settings])
def test_what_cannot_be_hashed_is_refused(part):
    with pytest.raises(TypeError):
        key_of("kind", part=part)


def test_changed_code_changes_every_key(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    for name, text in (("a.py", "x = 1\n"), ("inner/b.py", "y = 2\n"), ("data.txt", "no code")):
        (package / name).write_text(text)
    hashes = [hash_of_modules([package])]
    (package / "data.txt").write_text("other data")
    assert hash_of_modules([package]) == hashes[0]
    (package / "inner/b.py").write_text("y = 3\n")
    hashes.append(hash_of_modules([package]))
    (package / "inner/b.py").rename(package / "inner/c.py")
    hashes.append(hash_of_modules([package]))
    (package / "c.py").touch()
    hashes.append(hash_of_modules([package]))
    assert len(set(hashes)) == 4
    before = key_of("kind", part=1)
    with mock.patch.object(keys, "code_hash", return_value=hashes[0]):
        assert key_of("kind", part=1) != before
    assert key_of("kind", part=1) == before


def test_the_code_is_that_of_three_packages():
    code_hash.cache_clear()
    with mock.patch.object(keys, "hash_of_modules", return_value="") as hashed:
        code_hash()
    code_hash.cache_clear()
    names = [directory.name for directory in hashed.call_args.args[0]]
    assert names == ["corpora", "evaluation", "models"]


def test_only_results_of_experiments_depend_on_the_code_of_experiments():
    kinds = ("experiment-bam-toy", "scores")
    before = [key_of(kind, part=1) for kind in kinds]
    with mock.patch.object(keys, "experiments_hash", return_value="of other code"):
        after = [key_of(kind, part=1) for kind in kinds]
    assert [first == second for first, second in zip(before, after, strict=True)] == [False, True]
    keys.experiments_hash.cache_clear()
    with mock.patch.object(keys, "hash_of_modules", return_value="") as hashed:
        keys.experiments_hash()
    keys.experiments_hash.cache_clear()
    (directory,) = hashed.call_args.args[0]
    assert (directory / "buntine2009" / "table_1.py").exists()


def test_scores_depend_on_model_documents_words_and_settings():
    corpus = made_up_corpus(20)
    model, documents = SavedModel(true_topics(), WORDS), HeldOut("here", corpus, 0)
    settings = EvaluateSettings(method="exact")

    def key(**changed):
        parts = {"settings": settings, "model": model, "documents": documents, "words": WORDS}
        return score_key(**{**parts, **changed})

    models = [
        replace(model, topics=blurred(true_topics(), 1e-9)),
        replace(model, topics=replace(true_topics(), alpha=true_topics().alpha + 1e-9)),
        replace(model, topics=as_gamma_poisson(true_topics())),
        replace(model, vocabulary=WORDS[::-1]),
    ]
    asked = [
        *({"method": "completion"}, {"convention": "bag"}, {"samples": 7}, {"target_se": 0.1}),
        *({"smoothing": 1e-6}, {"seed": 1}),
    ]
    others = [
        *(key(model=each) for each in models),
        *(key(settings=replace(settings, **each)) for each in asked),
        *(key(documents=HeldOut("here", made_up_corpus(20, seed=1), 0)), key(words=WORDS[1:])),
    ]
    assert len({key(), *others}) == 1 + len(others)
    assert key(model=replace(model, header={"seed": 9})) == key()
    assert key(documents=HeldOut("elsewhere", corpus, 3)) == key()
    assert key(settings=replace(settings, threads=7, certify=True, max_memory=9.0)) == key()
