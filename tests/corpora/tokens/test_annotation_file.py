import hashlib
import io
import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import AnnotatedArticles, Article, annotate_articles
from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.tokens import annotation_file
from corpora.tokens.annotation_file import load_annotated, load_skipped, save_annotated
from tests.corpora.tokens.scripted import Scripted

SHARD, OTHER_SHARD = "5a" * 32, "5b" * 32
words = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="/="), min_size=1)
tokens = st.builds("{}/{}/NOUN/{}".format, words, words, st.sampled_from(["-", "s", "c"]))


def annotated(texts, *, noun_chunks=False, title="Drei § ü"):
    articles = [
        Article(n, 0, title, "", "", "en", "", f"== {title.strip() or '-'} ==\n{text}")
        for n, text in enumerate(texts)
    ]
    return annotate_articles(articles, Scripted(noun_chunks=noun_chunks), ["the"], skipped={5})


def small():
    return annotated(["The/DT/DET/s ox/NN/NOUN/c", "", "Ox/NN/NOUN/- ran/VB/VERB/-"])


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in AnnotatedArticles.__dataclass_fields__
    )


@given(
    texts=st.lists(st.lists(tokens, max_size=5).map(" ".join), max_size=7),
    noun_chunks=st.booleans(),
    title=st.text(st.characters(exclude_characters="\n=")),
)
def test_saved_annotations_come_back(texts, noun_chunks, title, tmp_path_factory):
    path = tmp_path_factory.mktemp("annotation") / "a.npz"
    articles = annotated(texts, noun_chunks=noun_chunks, title=title)
    save_annotated(articles, path, SHARD)
    assert same(load_annotated(path, SHARD), articles)


def test_half_a_surrogate_pair_and_many_entries_come_back(tmp_path):
    articles = replace(small(), titles=("\ud800", "", "x"))
    save_annotated(articles, tmp_path / "a.npz", SHARD)
    assert same(load_annotated(tmp_path / "a.npz", SHARD), articles)
    articles = annotated([" ".join(f"w{n}/NN/NOUN/-" for n in range(70_000))])
    assert len(articles.entry_word) == 70_000
    save_annotated(articles, tmp_path / "a.npz", SHARD)
    assert same(load_annotated(tmp_path / "a.npz", SHARD), articles)


def test_equal_annotations_make_equal_files_that_numpy_reads(tmp_path):
    save_annotated(small(), tmp_path / "a.npz", SHARD)
    save_annotated(small(), tmp_path / "b.npz", SHARD)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["entry_of"].tolist() == small().entry_of.tolist()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
        assert len(archive.comment) == 32


def test_a_flipped_byte_is_noticed_wherever_it_is(tmp_path):
    path = tmp_path / "a.npz"
    save_annotated(small(), path, SHARD)
    stored = path.read_bytes()
    for position in range(0, len(stored), 7):
        changed = bytearray(stored)
        changed[position] ^= 0x01
        path.write_bytes(changed)
        with pytest.raises(CorpusFormatError, match=r"a\.npz"):
            load_annotated(path, SHARD)


@pytest.mark.parametrize("length", [0, 10, 100, -1])
def test_a_shortened_file_is_noticed(length, tmp_path):
    path = tmp_path / "a.npz"
    save_annotated(small(), path, SHARD)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CorpusFormatError, match="damaged; delete the file to redo it"):
        load_annotated(path, SHARD)


def test_a_file_of_a_newer_version_says_so(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(annotation_file, "FORMAT_VERSION", annotation_file.FORMAT_VERSION + 1)
        save_annotated(small(), tmp_path / "a.npz", SHARD)
    with pytest.raises(UnsupportedVersionError, match="newer"):
        load_annotated(tmp_path / "a.npz", SHARD)
    with pytest.raises(UnsupportedVersionError, match="newer"):
        load_skipped(tmp_path / "a.npz")


def test_the_annotation_of_another_shard_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    save_annotated(small(), path, OTHER_SHARD)
    with pytest.raises(CorpusFormatError, match=rf"a\.npz .* {OTHER_SHARD}; delete the file"):
        load_annotated(path, SHARD)


def test_articles_that_were_passed_over_are_read_alone(tmp_path):
    articles = annotated(["x/NN/NOUN/-"] * 7)
    save_annotated(articles, tmp_path / "a.npz", SHARD)
    assert articles.skipped == ("en:5",)
    assert load_skipped(tmp_path / "a.npz") == {"en:5": "Drei § ü"}
    save_annotated(small(), tmp_path / "b.npz", SHARD)
    assert load_skipped(tmp_path / "b.npz") == {}


def with_digest(content):
    if content.startswith(b"PK"):
        content = content[:-2] + (32).to_bytes(2, "little")
    return content + hashlib.sha256(content).digest()


def archive(**changes):
    arrays = {
        "version": np.array(annotation_file.FORMAT_VERSION),
        "shard": packed([SHARD]),
        **{name: packed([]) for name in annotation_file.STRINGS},
        **{name: np.zeros(0, np.uint8) for name in annotation_file.FLAGS},
        **{f"n_{name}": np.array(0) for name in annotation_file.FLAGS},
        **{name: np.zeros(0, np.uint8) for name in annotation_file.INDICES},
        **{name: np.zeros(0, np.uint8) for name in annotation_file.STARTS},
    }
    file = io.BytesIO()
    np.savez(file, **(arrays | changes))
    return file.getvalue()


def packed(strings):
    return np.frombuffer(json.dumps(strings).encode(), dtype=np.uint8)


def test_an_unchanged_archive_is_sound(tmp_path):
    (tmp_path / "a.npz").write_bytes(with_digest(archive()))
    assert load_annotated(tmp_path / "a.npz", SHARD).n_articles == 0
    assert load_skipped(tmp_path / "a.npz") == {}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"no archive", b"PK\x03\x04 no archive either", pickle.dumps({"words": []})),
        *(archive(version=np.array("two")), archive(shard=packed([])), archive(shard=packed([1]))),
        archive(words=np.frombuffer(b"no JSON", dtype=np.uint8)),
        archive(words=np.frombuffer(b"\xff\xfe\xff", dtype=np.uint8)),
        *(archive(words=np.array([{}], dtype=object)), archive(words=packed([1, 2]))),
        *(archive(words=packed({"a": 1})), archive(is_alphabetic=np.zeros(1))),
        *(archive(n_is_alphabetic=np.array(10**15)), archive(n_is_alphabetic=np.array([1, 2]))),
        *(archive(entry_of=np.zeros(1)), archive(entry_of=np.zeros((0, 2), dtype=np.uint8))),
        *(archive(piece_start=np.array(["a"])), archive(piece_start=np.array([1], dtype=np.uint8))),
        archive(passed_over=packed(["en:1"])),
    ],
)
def test_foreign_content_with_a_sound_digest_is_no_annotation(content, tmp_path):
    (tmp_path / "x.npz").write_bytes(with_digest(content))
    with pytest.raises(CorpusFormatError, match=r"x\.npz .*; delete the file to redo it"):
        load_annotated(tmp_path / "x.npz", SHARD)


@pytest.mark.parametrize("content", [b"", b"no archive", archive(passed_over=packed(["en:1"]))])
def test_articles_passed_over_of_a_foreign_file_are_refused(content, tmp_path):
    (tmp_path / "x.npz").write_bytes(with_digest(content))
    with pytest.raises(CorpusFormatError, match=r"x\.npz .*; delete the file to redo it"):
        load_skipped(tmp_path / "x.npz")


def test_another_archive_is_no_annotation(tmp_path):
    packed = io.BytesIO()
    np.savez(packed, x=np.zeros(3))
    (tmp_path / "x.npz").write_bytes(packed.getvalue())
    with pytest.raises(CorpusFormatError, match=r"x\.npz"):
        load_annotated(tmp_path / "x.npz", SHARD)
