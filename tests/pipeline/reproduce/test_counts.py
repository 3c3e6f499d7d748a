"""Counts of Gamma-Poisson experiments: files in all formats, refused ones, and the sample."""

import numpy as np
import pytest
from scipy import sparse

from corpora import Corpus, CorpusFormatError, write_corpus
from pipeline.errors import UsageError
from pipeline.reproduce import counts as l2r_counts
from pipeline.reproduce.counts import corpora_of, name_of, read_counts, words_of_counts
from pipeline.reproduce.settings import ReproduceSettings
from tests.pipeline.reproduce.support import few_counts
from tests.pipeline.support import call, flip, inside


def write_docword(corpus, path):
    """Write a file without a vocabulary beside it."""
    counts = corpus.counts
    rows = [f"{d + 1} {w + 1} {n}" for (d, w), n in np.ndenumerate(counts.toarray()) if n]
    path.write_text("\n".join([*map(str, (*counts.shape, counts.nnz)), *rows]) + "\n")


WRITERS = {
    "docword.a.txt": write_docword,
    "a.npz": lambda corpus, path: sparse.save_npz(path, sparse.csc_matrix(corpus.counts)),
    "a": lambda corpus, path: corpus.save(path),
} | dict.fromkeys(("a.mtx", "a.ldac", "a.jsonl"), write_corpus)


@pytest.mark.parametrize("name", WRITERS)
def test_counts_in_any_format(name, tmp_path):
    counts = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0], [0, 0, 4]]))
    WRITERS[name](Corpus(counts, ("a", "b", "c"), ("1", "2", "3")), tmp_path / name)
    path = str(tmp_path / name)
    assert name_of(path) == "a"
    assert read_counts(path).toarray().tolist() == counts.toarray().tolist()


@pytest.fixture
def place(tmp_path):
    """A directory with counts.npz, and files of other content."""
    (tmp_path / "other").mkdir()
    for name, counts in {
        "counts": few_counts(),
        "other/counts": few_counts(),
        "half": 0.5 * few_counts(),
        "few": sparse.csr_array(np.eye(4)),
        "long": sparse.csr_array(np.full((6, 12), 8)),
    }.items():
        sparse.save_npz(tmp_path / f"{name}.npz", counts)
    np.savez(tmp_path / "else.npz", a=np.ones(3))
    whole = (tmp_path / "counts.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "unknown.xyz").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        ("l2r-kl --counts nowhere.npz", 3, "--counts: there is no file or directory nowhere.npz"),
        ("l2r-kl --counts counts.npz,other/counts.npz", 2, "would both be called counts"),
        ("l2r-kl --counts unknown.xyz", 2, "it can be uci, mtx, ldac, npz"),
        ("l2r-kl --counts half.npz", 3, "counts must be whole numbers"),
        ("l2r-kl --counts else.npz", 3, "no sparse matrix"),
        ("l2r-kl --counts cut.npz", 3, "no sparse matrix"),
        ("l2r-kl --counts few.npz", 2, "few: 0 documents have more than one"),
        ("l2r-convergence --counts few.npz", 2, "few: of 4 documents"),
    ],
)
def test_counts_that_cannot_be_used(argv, code, complaint, place):
    outcome = call("reproduce", *argv.split(), cwd=place)
    assert outcome.code == code
    assert complaint in outcome.error


def test_too_many_topics_for_the_exact_likelihood(place, quick):
    argv = ("--counts", "long.npz", "--topics", 40, "--max-tokens", 200, "--threads", 1)
    outcome = call("reproduce", "l2r-kl", *argv, cwd=place)
    assert outcome.code == 2
    assert "its exact likelihood needs" in outcome.error


def test_a_damaged_matrix_is_no_crash(place):
    path = place / "counts.npz"
    content, n_refused = path.read_bytes(), 0
    for position in range(0, len(content), max(1, len(content) // 80)):
        flip(path, position, position % 8)
        try:
            read_counts(str(path))
        except CorpusFormatError:
            n_refused += 1
        path.write_bytes(content)
    assert n_refused > 20


WORDS = ("ash", "birch", "cedar")
OTHERS = tuple(f"{word}s" for word in WORDS)


@pytest.mark.parametrize(
    ("counts", "vocabulary", "expected"),
    [
        ("a.npz", "", WORDS),
        ("a.npz", "others.txt", OTHERS),
        ("a.npz", "numbers", ("0", "1", "2")),
        ("a.jsonl", "", WORDS),
        ("a.mtx", "", WORDS),
        ("a.ldac", "others.txt", OTHERS),
    ],
)
def test_words_of_counts(counts, vocabulary, expected, tmp_path):
    corpus = Corpus(sparse.csr_array(np.eye(3, dtype=int)), WORDS, ("1", "2", "3"))
    WRITERS[counts](corpus, tmp_path / counts)
    if counts == "a.npz":
        (tmp_path / "a.vocab").write_text("".join(f"{word}\n" for word in WORDS))
    (tmp_path / "others.txt").write_text("".join(f"{word}\n" for word in OTHERS))
    with inside(tmp_path):
        found = words_of_counts(ReproduceSettings(counts=counts, vocabulary=vocabulary), "x")
    assert (found.name, found.words) == ("a", expected)
    assert found.counts.toarray().tolist() == np.eye(3).tolist()


@pytest.mark.slow
def test_the_sample_is_what_there_is_without_counts(tiny_finished, monkeypatch):
    monkeypatch.setattr(l2r_counts, "SAMPLE_STORE", "articles")
    filled = []
    monkeypatch.setattr(l2r_counts, "download", lambda settings: filled.append(settings.output))
    with inside(tiny_finished):
        (found,) = corpora_of(ReproduceSettings(threads=1))
        again = words_of_counts(ReproduceSettings(threads=1), "x")
    assert filled == ["articles"] * 2
    assert found.name == again.name == "sample"
    assert found.counts.shape == (60, len(again.words))
    in_documents = (found.counts.toarray() > 0).sum(axis=0)
    assert in_documents.min() >= 5
    assert in_documents.max() <= 30


def test_names_in_tables(tmp_path):
    assert [name_of(path) for path in ("x/docword.kos.txt.gz", "b.c.npz")] == ["kos", "b.c"]
    with inside(tmp_path):
        (tmp_path / "d.e").mkdir()
        assert name_of("d.e/") == "d.e"
        (tmp_path / "d.e.npz").touch()
        with pytest.raises(UsageError, match="rename one"):
            corpora_of(ReproduceSettings(counts="d.e,d.e.npz"))
