import argparse
import shlex
import signal
import subprocess

import pytest

from corpora import ArticleStore
from pipeline import cli
from pipeline.cli import build_parser
from pipeline.errors import Interrupted
from tests.fork_server import ForkServer
from tests.pipeline.support import TINY, call, command, finish, spawn, write_dump, write_jsonl

COMMANDS = (
    *("download", "train", "select", "evaluate", "topics", "infer"),
    *("index", "allocate", "reproduce", "convert", "cache", "warm"),
)


def test_download_of_the_sample(tmp_path):
    outcome = call("download", "--limit", 3, "--threads", 1, cwd=tmp_path).succeeded()
    assert outcome.out == "articles: 3 articles added, 3 in all\n"
    outcome = call("download", "--limit", 5, "--threads", 1, "--json", cwd=tmp_path).succeeded()
    assert outcome.result == {"output": "articles", "added": 2, "already_there": 3, "articles": 5}
    titles = [article.title for article in ArticleStore(tmp_path / "articles")]
    assert (titles[:2], len(titles)) == (["Anarchism", "Autism"], 5)


def test_download_of_json_lines(tmp_path):
    write_jsonl(tmp_path / "texts.jsonl", 7)
    argv = ("download", "--source", "jsonl", "--input", "texts.jsonl", "--output", "de")
    result = call(*argv, "--language", "de", "--json", cwd=tmp_path).succeeded().result
    assert result == {"output": "de", "added": 7, "already_there": 0, "articles": 7}
    assert {article.language for article in ArticleStore(tmp_path / "de")} == {"de"}
    assert (
        "0 articles added, 7 skipped as already there, 7 in all"
        in call(*argv, "--language", "de", cwd=tmp_path).succeeded().out
    )


@pytest.mark.parametrize("name", ["dump.xml", "dump.xml.bz2"])
def test_download_of_a_dump(tmp_path, name):
    write_dump(tmp_path / name, 5)
    argv = ("download", "--source", "dump", "--input", name, "--threads", 1, "--json")
    assert call(*argv, cwd=tmp_path).succeeded().result["added"] == 5
    first = next(iter(ArticleStore(tmp_path / "articles")))
    assert (first.document_id, first.url) == ("en:1", "https://en.wikipedia.org/wiki/Article_1")
    assert first.text.startswith("Article It is the ")


def test_train_prints_topics_and_where_they_are(tiny):
    plain = call("train", "--run", "a", *TINY, cwd=tiny).succeeded()
    lines = plain.out.splitlines()
    assert (lines[0].split(), len(lines[1:4])) == (["topic", "share", "words"], 3)
    assert "validation perplexity" in lines[5]
    assert ": check " in lines[5]
    assert lines[6].startswith("runs/a: ")
    assert "documents to train on" in plain.err
    made = {path.name for path in (tiny / "runs/a").iterdir()}
    assert made >= {"settings.toml", "model.npz", "metrics.jsonl", "topics.txt", "provenance.json"}
    assert (tiny / "runs/a/topics.txt").read_text() == "\n".join(lines[:4]) + "\n"
    result = call("train", "--run", "b", "--json", *TINY, cwd=tiny).succeeded().result
    assert (result["run"], result["path"], result["seed"]) == ("b", "runs/b", 5)
    assert len(result["topics"]) == 3
    assert sum(row["prevalence"] for row in result["topics"]) == pytest.approx(1)


@pytest.mark.parametrize("method", ["completion", "variational-bound"])
def test_evaluate_on_the_test_part(finished, method):
    argv = ("evaluate", "small", "--method", method, "--threads", 1)
    result = call(*argv, "--json", cwd=finished).succeeded().result
    assert (result["method"], result["articles"]) == (method, 3)
    assert result["documents"] == 36
    assert 50 < result["perplexity"] < 500  # of 274 words, learned from few
    assert result["perplexity"] == pytest.approx(2 ** result["bits_per_word"])
    assert result["perplexity_standard_error"] > 0
    assert result["tokens_scored"] <= result["tokens"]
    assert 0 < result["unknown_share"] < 1
    plain = call(*argv, cwd=finished).succeeded()
    assert f"held-out perplexity {result['perplexity']:.1f} ± " in plain.out
    assert f"{result['tokens_scored']:,} of {result['tokens']:,} tokens scored" in plain.out


@pytest.mark.parametrize(
    "method", ["completion", pytest.param("variational-bound", marks=pytest.mark.slow)]
)
def test_evaluate_on_another_store(tiny, method):
    write_jsonl(tiny / "other.jsonl", 9, seed=1, first_id=1001)
    call("download", "--source", "jsonl", "--input", "other.jsonl", "--output", "other", cwd=tiny)
    argv = ("evaluate", "tiny", "--articles", "other", "--method", method, "--threads", 1)
    result = call(*argv, "--json", cwd=tiny).succeeded().result
    assert (result["scored"], result["articles"], result["documents"]) == ("other", 9, 9)
    assert "9 articles, other" in call(*argv, cwd=tiny).succeeded().out


def test_what_a_run_was_trained_with_is_not_held_out(tiny):
    own = call("evaluate", "tiny", "--json", cwd=tiny).succeeded().result
    argv = ("evaluate", "tiny", "--articles", "articles", "--threads", 1)
    result = call(*argv, "--json", cwd=tiny).succeeded().result
    assert (result["left_out"], result["perplexity"]) == (60 - own["documents"], own["perplexity"])
    assert f"left out: {result['left_out']} documents" in call(*argv, cwd=tiny).succeeded().out


def test_evaluate_depends_on_its_seed_alone(tiny):
    def perplexity(*argv):
        return float(
            call("evaluate", "tiny", "--json", *argv, cwd=tiny).succeeded().result["perplexity"]
        )

    assert perplexity("--threads", 1) == perplexity("--threads", 3)
    assert perplexity("--seed", 1) != perplexity()
    assert perplexity("--samples", 1) != perplexity()


def test_topics(finished):
    result = call("topics", "small", "--words", 3, "--json", cwd=finished).succeeded().result
    assert (result["run"], [len(row["words"]) for row in result["topics"]]) == ("small", [3] * 4)
    shares = [row["prevalence"] for row in result["topics"]]
    assert shares == sorted(shares, reverse=True)
    plain = call("topics", "small", "--words", 3, cwd=finished).succeeded().out.splitlines()
    assert [line.split()[0] for line in plain[1:]] == [str(r["topic"]) for r in result["topics"]]


def test_a_run_is_found_by_name_and_by_path(finished, tmp_path):
    assert call("topics", "small", "--runs", finished / "runs", cwd=tmp_path).code == 0
    assert call("topics", finished / "runs/small", cwd=tmp_path).code == 0


def test_infer(tiny):
    (tiny / "music.txt").write_text("A guitar, a piano and a violin; the orchestra. Unheard-of!")
    (tiny / "empty.txt").write_text("")
    argv = ("infer", "tiny", "music.txt", "-", "empty.txt", "--threads", 1)
    text = "It is the proton of an atom. The atom is the electron."
    result = call(*argv, "--json", cwd=tiny, stdin=text).succeeded().result
    music, physics, empty = result["texts"]
    assert [text["file"] for text in result["texts"]] == ["music.txt", "-", "empty.txt"]
    assert (music["tokens"], physics["tokens"], empty["tokens"]) == (4, 4, 0)
    assert music["unknown"] > 0
    for text in result["texts"]:
        assert sum(row["proportion"] for row in text["topics"]) == pytest.approx(1)
    shares = [
        {row["topic"]: row["proportion"] for row in text["topics"]} for text in result["texts"]
    ]
    assert shares[0] != shares[1]
    assert max(shares[0].values()) > 0.5
    assert list(shares[2].values()) == pytest.approx([1 / 3] * 3)
    plain = call(*argv, cwd=tiny, stdin="It is the proton.").succeeded()
    assert "-: 1 known words, 0 unknown" in plain.out


@pytest.mark.parametrize("argv", ["train --run tiny", "topics tiny", "download --limit 1"])
def test_quiet_leaves_only_the_result(tiny, argv):
    outcome = call(*shlex.split(argv), "--quiet", cwd=tiny).succeeded()
    assert outcome.err == ""
    assert outcome.out


def test_quiet_training_says_nothing_on_stderr(tiny):
    outcome = call("train", "--run", "hush", "--quiet", "--json", *TINY, cwd=tiny).succeeded()
    assert (outcome.err, outcome.result["run"]) == ("", "hush")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_option(tmp_path, name):
    outcome = call(name, "--help", cwd=tmp_path).succeeded()
    assert "--json" in outcome.out
    assert outcome.err == ""
    assert all(each in call("--help", cwd=tmp_path).succeeded().out for each in COMMANDS)


WITHOUT_NUMBA = {
    "--help": "usage: ",
    "train --topics abc": "wikitopics: --topics must be a whole number, found 'abc'",
    "download --source random --api http://localhost:9/w/api.php": "reading random articles of",
    "download": "reading the built-in sample into articles",
    "download --verify": "checking 6 shards of articles",
    "download --export x.jsonl": "writing the articles of articles to x.jsonl",
}
FIRST_LINES = WITHOUT_NUMBA | {
    "train --topics 3 --articles articles": "--model gibbs: the best topics, in an estimated ",
    "train --model online --topics 3 --articles articles": "run online-3: 3 topics by --model "
    "online from the articles in articles",
    "train --run tiny": "run tiny is done: nothing left to train",
    "select --model online --topics 3,2 --articles articles": "runs/select-online: runs of 2, 3 "
    "topics",
    "evaluate tiny --articles articles": "held-out likelihood of tiny on articles",
    "topics tiny": "topic  share  words",
    "report tiny": "report of tiny",
    "index articles": "articles: article store",
    "reading-test tiny": "reading test of tiny",
    "reading-score key.json a.json b.json": "answers in 2 files",
    "infer tiny text": "reading text with en_core_web_sm",
    "reproduce bam-toy": "bam-toy at scale quick, seed 0, into reproduce/bam-toy",
    "reproduce --gather": "gathering results in reproduce",
    "allocate counts.csv": "counts.csv: scores of models by --method annealed",
    "convert runs/tiny x.jsonl": "reading runs/tiny/corpus (corpus), to write x.jsonl (jsonl)",
    "cache": "/",
    "warm": "compil",
}
FIRST_LINE = """
import io, os, sys
from pipeline.cli import main
class First(io.TextIOBase):
    def write(self, text):
        slow = {"sklearn", "scipy.stats", "spacy", "gensim", "matplotlib", "numba"}
        slow &= set(sys.modules)
        os.write(1, f"{' '.join(slow)}|{text}".encode())
        os._exit(0)
sys.stdout = sys.stderr = First()
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def server():
    with ForkServer("import pipeline.cli, pipeline.downloads.download") as server:
        yield server


@pytest.fixture(scope="module")
def server_with_numba():
    ours = "pipeline.cli, pipeline.training.train, pipeline.scoring.evaluate"
    with ForkServer(f"import numba, scipy.sparse, {ours}") as server:
        yield server


@pytest.mark.parametrize("argv", FIRST_LINES)
def test_the_first_line_waits_for_no_slow_import(tiny, argv, server, server_with_numba):
    (tiny / "text").write_text("A river.")
    which = server if argv in WITHOUT_NUMBA else server_with_numba
    slow, _, line = which.run(FIRST_LINE, *argv.split(), cwd=tiny).partition("|")
    assert slow in ("", "" if argv in WITHOUT_NUMBA else "numba")
    assert FIRST_LINES[argv] in line


def test_every_command_has_its_first_line_checked():
    names = {each.__name__.rpartition(".")[2].replace("_", "-") for each in cli.COMMANDS}
    assert {argv.split()[0] for argv in FIRST_LINES} == {"--help", *names}


def test_version(tmp_path):
    assert call("--version", cwd=tmp_path).succeeded().out.startswith("wikitopics 0.")


@pytest.mark.parametrize("argv", ["", "nonsense", "train --nonsense 1", "topics", "infer tiny"])
def test_usage_errors_of_the_parser(tmp_path, argv):
    outcome = call(*shlex.split(argv), cwd=tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "error:" in outcome.err.splitlines()[-1]


def test_help_of_evaluate_names_the_programs_whose_models_are_read(tmp_path):
    text = call("evaluate", "--help", cwd=tmp_path).succeeded().out
    programs = ("gensim", "scikit-learn", "tomotopy", "topica (LDA)", "MALLET", "lda-c", "BERTopic")
    assert all(each in " ".join(text.split()) for each in programs)


def test_every_setting_has_help():
    parser = build_parser()
    (commands,) = (action for action in parser._actions if hasattr(action.choices, "items"))
    assert commands.choices is not None
    for subparser in commands.choices.values():  # type: ignore[attr-defined]
        assert all(action.help for action in subparser._actions)


def test_a_process_of_its_own_prints_the_result_alone_on_stdout(tiny):
    outcome = finish(spawn("topics", "tiny", "--json", cwd=tiny)).succeeded()
    assert (outcome.result["run"], outcome.err) == ("tiny", "")
    assert "there are tiny" in call("topics", "nosuch", "--json", cwd=tiny).failed()


def test_head_closes_the_pipe(tiny):
    shown = " ".join(map(shlex.quote, command("topics", "tiny", "--words", 10000, "--json")))
    pipe = f"({shown}; echo code $? >&2) | (exec 0<&-; sleep 0)"
    done = subprocess.run(
        ["bash", "-c", pipe], capture_output=True, text=True, cwd=tiny, check=False
    )
    assert done.stderr == "code 0\n"


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_interrupt_that_a_kernel_has_wrapped(wrapped, monkeypatch, capsys):
    def runner(*_):
        cause = Interrupted(signal.SIGTERM) if wrapped else ValueError("none")
        raise SystemError("returned a result with an exception set") from cause

    class Parser:
        def parse_args(self, _):
            return argparse.Namespace(runner=runner, quiet=True, json=False)

    monkeypatch.setattr(cli, "build_parser", Parser)
    if not wrapped:
        with pytest.raises(SystemError):
            cli.main([])
        return
    assert cli.main([]) == 143
    assert "interrupted; what was done is kept" in capsys.readouterr().err
