import numpy as np
import pytest

from corpora import Corpus, article_of, mapped_split, part_of
from pipeline.settings import TrainSettings
from pipeline.text.held_out import held_out_of
from tests.pipeline.support import call

SETTINGS = TrainSettings(validation=0.2, test=0.3)


def corpus_of(doc_ids):
    return Corpus(np.ones((len(doc_ids), 1), dtype=int), ("a",), tuple(doc_ids))


@pytest.mark.parametrize("seed", range(4))
def test_what_a_run_used_is_left_out(seed):
    rng = np.random.default_rng(seed)
    own = [f"en:{d}#{s}" for d in rng.permutation(120)[:80] for s in range(rng.integers(1, 3))]
    other = [f"en:{d}#{s}" for d in rng.integers(0, 200, 150) for s in (0, 3)]
    used = {article_of(d) for d in own if part_of(d, 0.2, 0.3) != "test"}
    expected = [d for d in other if article_of(d) not in used]
    assert list(held_out_of(corpus_of(other), corpus_of(own), SETTINGS).doc_ids) == expected
    assert 0 < len(expected) < len(other)


def test_where_nothing_is_left_out_the_corpus_stays_as_it_is(tmp_path):
    own = corpus_of([f"en:{d}" for d in range(100)])
    of_test = corpus_of([d for d in own.doc_ids if part_of(d, 0.2, 0.3) == "test"])
    elsewhere, empty = corpus_of([f"de:{d}" for d in range(100)]), corpus_of([])
    for corpus in (of_test, elsewhere, empty):
        corpus.save(tmp_path)
        mapped = Corpus.load(tmp_path, mmap=True)
        assert held_out_of(mapped, own, SETTINGS) is mapped
    assert held_out_of(elsewhere, empty, SETTINGS) is elsewhere
    assert held_out_of(own, own, SETTINGS).doc_ids == of_test.doc_ids


def test_evaluate_says_the_same_of_parts_on_disk(tiny, monkeypatch):
    argv = ("evaluate", "tiny", "--threads", 1, "--json")
    expected = call(*argv, cwd=tiny).succeeded().result
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 0)
    for _ in range(2):
        assert call(*argv, cwd=tiny).succeeded().result == expected
    (directory,) = (tiny / "runs/tiny/corpus").glob("parts-*")
    (file,) = directory.glob("test/*-indices.npy")
    file.write_bytes(file.read_bytes()[:-1])
    assert "indices.npy was changed" in call(*argv, cwd=tiny).failed(3)
