import bz2
import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from corpora import Article, ArticleStore, writer_lock
from corpora.articles import shard
from corpora.articles.manifest import HEADER, ShardEntry, entry_line
from corpora.files import sha256_of
from tests.pipeline import support


def failed(code, *argv, cwd, stdin=""):
    return support.call(*argv, cwd=cwd, stdin=stdin).failed(code)


@pytest.mark.parametrize("source", ["dump", "jsonl"])
def test_a_missing_file_and_a_directory_in_its_place(tmp_path, source):
    error = failed(3, "download", "--source", source, "--input", "nosuch.bz2", cwd=tmp_path)
    assert "nosuch.bz2" in error
    assert not list(tmp_path.iterdir())
    (tmp_path / "there").mkdir()
    assert "there" in failed(3, "download", "--source", source, "--input", "there", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2", "dump.xml.gz"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_truncated_dump_keeps_what_came_before(tmp_path, name, threads):
    data = support.dump_xml(400).encode()
    whole = {".bz2": bz2.compress, ".gz": gzip.compress}.get(Path(name).suffix, bytes)(data)
    (tmp_path / name).write_bytes(whole[: len(whole) * 9 // 10])
    argv = ("download", "--source", "dump", "--input", name, "--threads", threads)
    assert name in failed(3, *argv, cwd=tmp_path)
    store = ArticleStore(tmp_path / "articles")
    store.verify()
    n_kept = len(store)
    assert n_kept > 100 or name.endswith(".bz2")  # bzip2 has blocks of 900 kB
    (tmp_path / name).write_bytes(whole)
    result = support.call(*argv, "--json", cwd=tmp_path).result
    assert (result["added"], result["articles"]) == (400 - n_kept, 400)


@pytest.mark.parametrize(
    "content", ["<!DOCTYPE html><html><body>Not found</body></html>", '{"text": "x"}', "", "\0\1\2"]
)
def test_not_a_dump(tmp_path, content):
    (tmp_path / "dump.xml").write_text(content)
    error = failed(3, "download", "--source", "dump", "--input", "dump.xml", cwd=tmp_path)
    assert "dump.xml" in error


def test_an_empty_file_of_json_lines_adds_nothing(tmp_path):
    (tmp_path / "x.jsonl").write_text("")
    argv = ("download", "--source", "jsonl", "--input", "x.jsonl", "--json")
    assert support.call(*argv, cwd=tmp_path).result["articles"] == 0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"title": "No text"}', "text"),
        ('{"title": "Empty", "text": " "}', "text"),
        ('{"title": "Broken", "text": ', "not valid JSON"),
        ("[1, 2]", "expected an object"),
        ('{"text": "nameless"}', "title"),
        ('{"title": "x", "text": 3}', "expected a string"),
        ('{"page_id": 1e300, "text": "x"}', "whole number"),
        ('{"title": "x", "text": "\xff"}', "UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, complaint):
    path = support.write_jsonl(tmp_path / "x.jsonl", 4)
    path.write_bytes(path.read_bytes() + line.encode("latin-1") + b"\n")
    error = failed(3, "download", "--source", "jsonl", "--input", "x.jsonl", cwd=tmp_path)
    assert "x.jsonl, line 5: " in error
    assert complaint in error
    assert len(ArticleStore(tmp_path / "articles")) == 4


@pytest.mark.parametrize(
    "argv",
    [
        *("download --source jsonl", "download --source dump", "download --input x"),
        *("download --limit 0", "download --limit -3", "download --threads 0"),
        *("download --source web", "train --topics 0", "train --topics -1", "train --topics abc"),
        *("train --topics 2.5", "train --validation 1.5", "train --validation -0.1"),
        *("train --validation nan", "train --test 0.6 --validation 0.4", "train --no-above 0"),
        *("train --no-above nan", "train --no-above 1.1", "train --no-below 0", "train --keep-n 0"),
        *("train --seed -1", "train --seed 1.5", "train --alpha foo", "train --alpha 0"),
        *("train --alpha nan", "train --eta -1", "train --batch-size 0"),
        *("train --max-e-iterations 0", "train --max-passes 0", "train --e-tolerance -1"),
        *("train --learning-decay -1", "train --learning-offset inf", "train --word-budget -1"),
        *("train --min-length 0", "train --parts-of-speech NOUN,FOO", "train --parts-of-speech ,"),
        *("train --bigram-min-count 0", "train --bigram-threshold 0"),
        *("train --bigrams npmi --bigram-threshold 2", "train --bigrams trigrams"),
        *("train --documents chapter", "train --early-stopping never"),
        *("train --stopping-patience 0", "train --stopping-tolerance -1"),
        *("train --stopping-tolerance nan", "train --model quantum"),
        *("train --model online --sampler exact-dense", "train --model online --start random"),
        *("train --model online --burn-in 3", "train --model online --learn-priors both"),
        *("train --batch-size 10 --burn-in 3", "train --follow --chains 2"),
        *("train --model gibbs --batch-size 10", "train --model gibbs --max-e-iterations 5"),
        *("train --model gibbs --learning-decay 0.6", "train --model gibbs --follow"),
        *("train --model gibbs --alpha learned", "train --model gibbs --eta learned"),
        *("train --model gibbs --sampler quick", "train --model gibbs --burn-in 100"),
        *("train --model gibbs --burn-in -1", "train --threads 0", "train --run tiny --topics 4"),
        *("evaluate tiny --method guess", "evaluate tiny --samples 0", "evaluate tiny --seed -1"),
        *("evaluate tiny --threads 0", "topics tiny --words 0", "infer tiny x.txt --words 0"),
        "infer tiny x.txt --threads 0",
    ],
)
def test_settings_that_cannot_be(tiny, argv):
    (tiny / "x.txt").write_text("proton")
    before = support.files_of(tiny)
    known = ("--articles", "articles") if argv.startswith("train") and "tiny" not in argv else ()
    error = failed(2, *argv.split(), *known, cwd=tiny)
    option = argv.rpartition("--")[2].split()[0]
    words = {*option.split("-"), option.replace("-", "_")}
    assert any(word in error for word in words), error
    assert support.files_of(tiny) == before


def test_pruning_that_leaves_nothing_names_the_threshold(tiny):
    assert "no_below = 1000" in failed(3, "train", *support.TINY, "--no-below", 1000, cwd=tiny)
    assert "no_above = 0.01" in failed(3, "train", *support.TINY, "--no-above", 0.01, cwd=tiny)


def test_a_run_without_a_corpus_may_change_its_model_and_pruning(tiny):
    argv = ("--batch-size", 50, "--no-below", 1000)
    failed(3, "train", *support.TINY, "--run", "changed", *argv, cwd=tiny)
    argv = ("--model", "gibbs", "--no-below", 2)
    assert support.call("train", "--run", "changed", *argv, cwd=tiny).code == 0
    settings = tomllib.loads((tiny / "runs/changed/settings.toml").read_text())["train"]
    assert settings["model"] == "gibbs"
    assert "batch_size" not in settings
    failed(3, "train", *support.TINY, "--run", "mended", "--no-below", 1000, cwd=tiny)
    support.call("train", "--run", "mended", "--no-below", 2, "--json", cwd=tiny).succeeded()
    settings = tomllib.loads((tiny / "runs/mended/settings.toml").read_text())["train"]
    assert (settings["no_below"], settings["topics"]) == (2, 3)


def test_articles_that_are_no_store(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/todo.txt").write_text("buy milk")
    (tmp_path / "file").write_text("")
    for name in ("notes", "file", "nosuch"):
        assert name in failed(3, "train", "--articles", name, cwd=tmp_path)
    for name in ("notes", "file"):
        assert name in failed(3, "download", "--limit", 1, "--output", name, cwd=tmp_path)
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["todo.txt"]


def test_an_empty_store(tmp_path):
    ArticleStore(tmp_path / "articles").append([])
    error = failed(3, "train", "--articles", "articles", "--run", "r", cwd=tmp_path)
    assert "articles holds no articles: fill it with `python -m pipeline download" in error
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("following", [(), ("--follow",), ("--follow", "--documents", "article")])
def test_an_empty_store_does_not_fix_the_language(tmp_path, following):
    store = ArticleStore(tmp_path / "hi")
    store.append([])
    provenance = tmp_path / "runs/r/provenance.json"
    argv = ("train", "--articles", "hi", "--run", "r", "--topics", 2, "--threads", 1)
    argv += (*following, "--no-below", 1, "--no-above", 1, "--test", 0, "--validation", 0)
    assert "hi holds no articles: fill it" in failed(3, *argv, cwd=tmp_path)
    if following:
        assert "annotation" not in json.loads(provenance.read_text())
    else:
        assert not (tmp_path / "runs").exists()
    store.append(
        Article(n, 0, f"T {n}", "", "", "hi", "", "\u0928\u0926\u0940 \u092a\u0939\u093e\u0921")
        for n in range(1, 9)
    )
    support.call(*argv, cwd=tmp_path).succeeded()
    assert json.loads(provenance.read_text())["annotation"]["spacy_model"] == "blank:hi"


def test_articles_that_are_all_too_short(tmp_path):
    articles = [Article(i, 0, f"A {i}", "", "", "en", "", "Is it.") for i in range(1, 20)]
    ArticleStore(tmp_path / "articles").append(articles)
    argv = ("train", "--articles", "articles", "--threads", 1)
    assert "have no words" in failed(3, *argv, cwd=tmp_path)


def test_nothing_to_evaluate_on(tiny):
    assert support.call("train", "--run", "all", *support.TINY, "--test", 0, cwd=tiny).code == 0
    assert "--test" in failed(2, "evaluate", "all", cwd=tiny)
    ArticleStore(tiny / "other").append(
        [Article(1, 0, "A", "", "", "en", "", "A haddock sneezes.")]
    )
    error = failed(2, "evaluate", "tiny", "--articles", "other", "--threads", 1, cwd=tiny)
    assert "other has no document that training did not see" in error


def test_a_missing_spacy_model_says_what_to_run(tiny):
    error = failed(1, "train", *support.TINY, "--spacy-model", "xx_nosuch_sm", cwd=tiny)
    assert "python -m spacy download xx_nosuch_sm" in error
    assert not (tiny / "runs/online-3").exists()


def test_text_to_infer_that_is_none(tiny):
    (tiny / "latin1.txt").write_bytes("na\xefve".encode("latin-1"))
    assert "latin1.txt" in failed(3, "infer", "tiny", "latin1.txt", cwd=tiny)
    assert "nosuch.txt" in failed(3, "infer", "tiny", "nosuch.txt", cwd=tiny)
    assert "no file in this folder" in failed(3, "infer", "tiny", "articles/shards", cwd=tiny)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hostile_shard_is_refused_and_not_run(tmp_path, threads):
    whole = ArticleStore(tmp_path / "articles")
    whole.append([Article(1, 0, "A", "", "", "en", "", "The atom and the laser.")])
    keys = {"format": "wikitopics articles", "version": 1, "keys": [("en", 1)]}
    evil = pickle.dumps(support.Hostile())
    for hostile in (evil, pickle.dumps(keys) + evil):
        data = gzip.compress(hostile)
        entry = ShardEntry("000001.pkl.gz", 1, len(data), sha256_of(data))
        (tmp_path / "articles/shards/000001.pkl.gz").write_bytes(data)
        line, _ = entry_line(entry, "")
        (tmp_path / "articles/manifest.jsonl").write_bytes(HEADER + b"\n" + line + b"\n")
        argv = ("train", "--articles", "articles", "--threads", threads)
        assert "000001.pkl.gz" in failed(3, *argv, cwd=tmp_path)
        assert not (tmp_path / "executed").exists()
        pickle.loads(hostile[-len(evil) :])  # the control: this one runs
        shutil.rmtree(tmp_path / "executed", ignore_errors=True)
        Path("executed").rmdir()


def test_stores_runs_and_tokens_that_another_process_writes_to(tiny):
    with writer_lock(tiny / "articles"):
        error = failed(75, "download", "--limit", 1, cwd=tiny)
    assert str(os.getpid()) in error
    assert "try again" in error
    with writer_lock(tiny / "runs/tiny"):
        assert "try again" in failed(75, "train", "--run", "tiny", cwd=tiny)
        assert support.call("topics", "tiny", cwd=tiny).code == 0  # readers need not wait
        assert support.call("evaluate", "tiny", cwd=tiny).code == 0
    tokens = next((tiny / "articles/tokens").iterdir())
    next(tokens.glob("*.npz")).unlink()
    with writer_lock(tokens):
        assert "try again" in failed(75, "train", "--run", "new", *support.TINY, cwd=tiny)
    assert support.call("train", "--run", "new", *support.TINY, cwd=tiny).code == 0


@pytest.mark.slow
def test_two_processes_at_once(untouched):
    processes = [
        support.spawn("train", "--run", "both", *support.TINY, cwd=untouched) for _ in range(2)
    ]
    outcomes = [support.finish(process) for process in processes]
    codes = sorted(outcome.code for outcome in outcomes)
    assert codes[0] == 0
    assert codes[1] in (0, 75)  # 0 if the second came when the first was done


def test_a_directory_that_cannot_be_written(tmp_path):
    program = [
        *(sys.executable, "-c"),
        (
            "import contextlib, io, os, sys, tempfile\n"
            "from pipeline.cli import PACKAGES, main\n"
            "class OutOfReach:\n"
            "    def find_spec(self, name, *_):\n"
            "        if name.partition('.')[0] in PACKAGES: raise ImportError(name)\n"
            "argv = sys.argv[1:]\n"
            "warm = ['--quiet', '--output', tempfile.mkdtemp() + '/warm']\n"
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            "    assert main([*argv, *warm]) == 0\n"  # imports what a download needs
            "if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)\n"
            "sys.meta_path.insert(0, OutOfReach())\n"
            "sys.exit(main([*argv, '--output', 'new']))"
        ),
    ]
    (tmp_path / "x.jsonl").write_text('{"title": "x", "text": "y"}\n')
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    tmp_path.chmod(0o555)
    try:
        argv = ("download", "--source", "jsonl", "--input", "x.jsonl")
        outcome = support.finish(support.spawn(*argv, cwd=tmp_path, program=program))
    finally:
        tmp_path.chmod(0o755)
    assert "Permission denied: 'new'" in outcome.failed(1)


def test_a_dump_through_a_pipe(tmp_path):
    dump = support.write_dump(tmp_path / "dump.xml", 5)
    done = subprocess.run(
        support.command("download", "--source", "dump", "--input", "/dev/stdin", "--json"),
        input=dump.read_bytes(), capture_output=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["articles"] == 5


@pytest.mark.parametrize("name", ["manifest.jsonl", "shards/000001.pkl.gz"])
def test_a_store_of_a_newer_version_is_refused_in_a_line(tmp_path, monkeypatch, name):
    article = Article(1, 1, "A", "", "", "en", "", "A text.")
    with monkeypatch.context() as newer:
        newer.setattr(shard, "WITHOUT_COLUMNS", 4)
        ArticleStore(tmp_path / "articles").append([article])
    if name == "manifest.jsonl":
        manifest = tmp_path / "articles" / name
        manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 2'))
    commands = [
        ("download", "--output", "articles", "--verify"),
        ("train", "--articles", "articles"),
    ]
    for command in commands:
        error = failed(3, *command, cwd=tmp_path)
        assert f"{name} was written by a newer wikitopics; upgrade to read it" in error
