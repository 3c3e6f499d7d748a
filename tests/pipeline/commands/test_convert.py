import gzip
import os
import subprocess

import numpy as np
import pytest

from corpora.corpus import Corpus
from corpora.formats import read_corpus, read_doc_topics, read_topic_keys, write_corpus
from models import load_model
from tests.corpora.formats.made_up import only_file, same, small_corpus
from tests.pipeline.support import call, refused

FORMATS = ("uci", "mtx", "ldac", "npz", "jsonl", "text", "corpus")
NAMES = ("docword.{}.txt.gz", "{}.mtx", "{}.ldac", "{}.npz", "{}.jsonl.xz", "{}-texts", "{}-corpus")
NAME_OF = dict(zip(FORMATS, NAMES, strict=True))
PRINTED = "3 documents, 4 words, 7 tokens"


def failed(code, *argv, cwd):
    return call("convert", *argv, cwd=cwd).failed(code)


def write(directory, form):
    name = NAME_OF[form].format("a")
    write_corpus(small_corpus(), directory / name, form)
    return name


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_every_pair(source, target, tmp_path):
    name, other = write(tmp_path, source), NAME_OF[target].format("b")
    told = ("--to", target) if target in ("text", "corpus") else ()
    outcome = call("convert", name, other, *told, cwd=tmp_path).succeeded()
    said = f"reading {name} ({source}), to write {other} ({target})\n"
    assert (outcome.out, outcome.err) == (f"{other}: {PRINTED}\n", said)
    same(read_corpus(tmp_path / other), small_corpus())
    assert not list(tmp_path.glob(".*"))


def test_json(tmp_path):
    argv = ("convert", write(tmp_path, "uci"), "b.mtx", "--json")
    assert call(*argv, cwd=tmp_path).succeeded().result == {
        "input": "docword.a.txt.gz",
        "output": "b.mtx",
        "from": "uci",
        "to": "mtx",
        "documents": 3,
        "words": 4,
        "tokens": 7,
        "lost": [],
    }


def test_formats_and_vocabulary_that_are_named(tmp_path):
    write(tmp_path, "mtx")
    (tmp_path / "a.mtx").rename(tmp_path / "counts")
    (tmp_path / "a.vocab").rename(tmp_path / "terms")
    argv = ("convert", "counts", "out", "--from", "mtx", "--to", "ldac", "--vocabulary", "terms")
    call(*argv, cwd=tmp_path).succeeded()
    assert (tmp_path / "out").read_text() == "2 0:2 2:1\n0\n2 1:3 3:1\n"
    assert (tmp_path / "out.vocab").read_text() == "ant\nbee\ncat\ndoe\n"
    argv = ("convert", "counts", "b.jsonl", "--from", "mtx", "--vocabulary", "numbers")
    call(*argv, cwd=tmp_path).succeeded()
    assert read_corpus(tmp_path / "b.jsonl").vocabulary == ("1", "2", "3", "4")


def test_what_is_lost_is_said_once(tmp_path):
    Corpus(
        small_corpus().counts,
        ("d", "c", "b", "a"),
        ("en:1", "en:2", "en:3"),
        ("One", "Two", "Three"),
        np.array([0, 1, 2]),
    ).save(tmp_path / "corpus")
    assert call("convert", "corpus", "b.mtx", cwd=tmp_path).succeeded().err == (
        "reading corpus (corpus), to write b.mtx (mtx)\n"
        "b.mtx: left out, as Matrix Market cannot hold them: document ids, titles, numbers of "
        "unknown words\n"
    )
    result = call("convert", "corpus", "b.jsonl", "--json", cwd=tmp_path).succeeded().result
    assert result["lost"] == ["the order of the vocabulary"]


def test_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    line = """printf '{"tokens": ["a", "b", "a"]}' > pipe"""
    with subprocess.Popen(["bash", "-c", line], cwd=tmp_path):
        outcome = call("convert", "pipe", "b.jsonl", "--from", "jsonl", cwd=tmp_path)
    assert outcome.succeeded().out == "b.jsonl: 1 documents, 2 words, 3 tokens\n"


def test_a_mallet_state(tmp_path):
    lines = ["#doc source pos typeindex type topic", "#alpha : 0.1 0.1", "#beta : 0.01"]
    lines += ["0 a.txt 0 1 cat 0", "0 a.txt 1 1 cat 1", "1 b.txt 0 0 dog 1"]
    (tmp_path / "state.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    outcome = call("convert", "state.gz", "b.jsonl", cwd=tmp_path).succeeded()
    assert outcome.out == "b.jsonl: 2 documents, 2 words, 3 tokens\n"
    assert tuple(read_corpus(tmp_path / "b.jsonl").titles) == ("a.txt", "b.txt")
    assert "read only" in failed(2, "b.jsonl", "other-state.gz", cwd=tmp_path)


def test_nothing_is_replaced_without_force(tmp_path):
    name = write(tmp_path, "jsonl")
    for target, told in (("b.jsonl", ()), ("b", ("--to", "text")), ("c", ("--to", "corpus"))):
        call("convert", name, target, *told, cwd=tmp_path).succeeded()
        error = failed(2, name, target, *told, cwd=tmp_path)
        assert error == f"wikitopics: {target} exists: choose another name, or --force"
        call("convert", name, target, *told, "--force", cwd=tmp_path).succeeded()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("precious")
    for force in ((), ("--force",)):
        error = failed(2, name, "mine", *force, "--to", "corpus", cwd=tmp_path)
        assert error == "wikitopics: mine holds other files: choose another name"
    assert (tmp_path / "mine" / "letter.txt").read_text() == "precious"
    assert "are the same" in failed(2, name, name, "--force", cwd=tmp_path)


def test_the_vocabulary_of_the_source_may_serve_the_target(tmp_path):
    call("convert", write(tmp_path, "uci"), "docword.a.txt", cwd=tmp_path).succeeded()
    assert only_file(tmp_path) == "docword.a.txt docword.a.txt.gz vocab.a.txt"


def test_words_keep_their_counts_beside_another_vocabulary(tmp_path):
    (tmp_path / "docword.kos.txt").write_text("1\n2\n2\n1 1 5\n1 2 1\n")
    (tmp_path / "vocab.kos.txt").write_text("zebra\napple\n")
    for source, target in (
        *(("docword.kos.txt", "k.jsonl"), ("k.jsonl", "kos.mtx"), ("kos.mtx", "back.jsonl")),
    ):
        call("convert", source, target, cwd=tmp_path).succeeded()
    line = '{"id": "1", "title": "1", "counts": {"apple": 1, "zebra": 5}}\n'
    assert (tmp_path / "back.jsonl").read_text() == line


def test_another_vocabulary_by_force_is_said(tmp_path):
    name = write(tmp_path, "jsonl")
    (tmp_path / "b.vocab").write_text("precious\n")
    told = "b.vocab exists and holds another vocabulary"
    expected = f"wikitopics: {told}: choose another name, or --force"
    assert failed(2, name, "b.mtx", cwd=tmp_path) == expected
    outcome = call("convert", name, "b.mtx", "--force", cwd=tmp_path).succeeded()
    assert outcome.err.endswith(f"(mtx)\nb.mtx: written in spite of this: {told}\n")


@pytest.mark.parametrize(
    ("code", "argv", "message"),
    [
        (3, "none.jsonl b.mtx", "none.jsonl"),
        (2, "none b.mtx", "the name of none does not tell its format; it can be uci, mtx"),
        (2, "a.jsonl b", "the name of b does not tell its format"),
        (2, "a.jsonl b --to csv", "no format 'csv'"),
        (3, "a.jsonl none/b.mtx", "No such file or directory: 'none'"),
        (3, "bad.jsonl b.mtx", "bad.jsonl, line 2: not valid JSON"),
        (3, "bad.mtx b.jsonl", "bad.mtx: no vocabulary beside it (bad.vocab, vocab.bad.txt"),
        (3, "bad.mtx b.jsonl --vocabulary numbers", "bad.mtx, line 1: expected '%%MatrixMarket"),
        (3, "bad.mtx b.jsonl --vocabulary none.txt", "none.txt"),
        (3, "spaces.jsonl b --to text", "the word 'two words' cannot be written in this format"),
        (3, "cut.jsonl.gz b.mtx", "cut.jsonl.gz: the compressed data end too early"),
        (2, "texts b.mtx --vocabulary", "expected one argument"),
        (3, "header b.mtx", "header.json is not the header of a corpus"),
    ],
)
def test_what_fails_says_why_and_leaves_nothing(code, argv, message, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"]}\n')
    (tmp_path / "bad.jsonl").write_text('{"tokens": ["a"]}\n{\n')
    (tmp_path / "bad.mtx").write_text("3 4 1\n1 1 1\n")
    (tmp_path / "spaces.jsonl").write_text('{"tokens": ["two words"]}\n')
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"tokens": ["a"]}\n' * 99)[:-9])
    (tmp_path / "header").mkdir()
    (tmp_path / "header" / "header.json").write_text("{}")
    refused(code, message, "convert", *argv.split(), cwd=tmp_path)


def test_a_run(tiny):
    model = load_model(tiny / "runs/tiny/model.npz")
    corpus = Corpus.load(tiny / "runs/tiny/corpus")
    outcome = call("convert", "runs/tiny", "b.jsonl", cwd=tiny).succeeded()
    assert f"b.jsonl: {corpus.n_docs} documents, {corpus.n_words} words" in outcome.out
    assert tuple(read_corpus(tiny / "b.jsonl").doc_ids) == tuple(corpus.doc_ids)
    argv = ("convert", "runs/tiny", "keys.txt", "--to", "mallet-topic-keys")
    assert call(*argv, cwd=tiny).succeeded().out == "keys.txt: 3 topics\n"
    keys = read_topic_keys(tiny / "keys.txt")
    assert keys.alpha.tolist() == model.topics.alpha.tolist()
    assert keys.words[0][0] == model.vocabulary[int(np.argmax(model.topics.topic_word[0]))]
    assert "keys.txt exists" in failed(2, *argv[1:], cwd=tiny)
    (tiny / "isdir").mkdir()
    for force in ((), ("--force",)):
        error = failed(2, "runs/tiny", "isdir", *argv[3:], *force, cwd=tiny)
        assert "isdir is a directory, which mallet-topic-keys cannot take" in error
    error = failed(3, "runs/tiny", "none/keys.txt", *argv[3:], cwd=tiny)
    assert "No such file or directory: 'none'" in error
    argv = ("convert", "runs/tiny", "doc-topics.txt", "--to", "mallet-doc-topics")
    call(*argv, cwd=tiny).succeeded()
    found = read_doc_topics(tiny / "doc-topics.txt")
    assert found.sources == tuple(corpus.doc_ids)
    assert np.array_equal(found.doc_topic, model.topics.transform(corpus.counts))
    assert "leave --vocabulary" in failed(2, *argv[1:], "--force", "--vocabulary", "x", cwd=tiny)
