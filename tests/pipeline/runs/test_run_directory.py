import json
import random
import shutil
import tomllib

import pytest

from tests.pipeline.support import TINY, TINY_GIBBS, arrays_of, call, files_of, flip, write_jsonl

DAMAGES = (
    # file, commands that need it, what else must go first
    ("runs/tiny/provenance.json", ("train --run tiny", "topics tiny", "evaluate tiny"), ()),
    ("runs/tiny/settings.toml", ("train --run tiny", "evaluate tiny", "infer tiny x.txt"), ()),
    ("runs/tiny/model.npz", ("train --run tiny", "topics tiny", "evaluate tiny"), ()),
    ("runs/tiny/checkpoints/latest.npz", ("train --run tiny",), ("runs/tiny/model.npz",)),
    ("runs/tiny/corpus/*.npy", ("evaluate tiny",), ()),
    ("runs/tiny/corpus/*.npy", ("train --run tiny",), ("runs/tiny/model.npz",)),
    ("runs/tiny/corpus/header.json", ("evaluate tiny",), ()),
    ("runs/tiny/bigrams.tsv", ("infer tiny x.txt", "evaluate tiny --articles articles"), ()),
    ("articles/tokens/*/*.npz", ("train --run new --articles articles",), ()),
    ("articles/tokens/*/*.npz", ("evaluate tiny --articles articles",), ()),
    (
        "articles/shards/000003.pkl.gz",
        ("train --run new --articles articles",),
        ("articles/tokens",),
    ),
    ("articles/shards/000003.pkl.gz", ("download --limit 1",), ()),
    ("articles/manifest.jsonl", ("train --run new --articles articles", "download --limit 1"), ()),
)


def trained(*argv, cwd):
    return call("train", *argv, "--json", cwd=cwd).succeeded()


def test_the_same_command_again_only_reports(tiny):
    first, before = trained(*TINY, cwd=tiny), files_of(tiny)
    again = trained(*TINY, cwd=tiny)
    assert "is done: nothing left to train" in again.err
    assert again.result == first.result
    assert files_of(tiny) == before


def test_the_same_command_without_a_seed_takes_that_of_the_run(tiny):
    argv = [each for each in TINY if each not in ("--seed", "5")]
    first = trained(*argv, cwd=tiny)
    assert trained(*argv, cwd=tiny).result == first.result
    assert first.result["seed"] >= 0


def test_a_run_with_the_start_of_earlier_versions(tiny):
    former = trained(*TINY_GIBBS, "--start", "online", cwd=tiny).result
    assert trained(*TINY_GIBBS, cwd=tiny).result == former
    assert trained(*TINY_GIBBS, "--start", "random", cwd=tiny).result["run"] == "gibbs-3-2"
    assert trained(*TINY_GIBBS, "--start", "anchors", cwd=tiny).result["run"] == "gibbs-3-3"


@pytest.mark.parametrize("documents", ["auto", "section", "article"])
def test_what_is_left_open_is_decided_once(tiny, documents):
    argv = [documents if each == "article" else each for each in TINY]
    first = trained(*argv, cwd=tiny)
    assert first.result["run"] == "online-3"
    assert trained(*argv, cwd=tiny).result == first.result
    assert trained("--run", "online-3", "--documents", documents, cwd=tiny).result == first.result
    settings = tomllib.loads((tiny / "runs/online-3/settings.toml").read_text())["train"]
    assert settings["documents"] == ("article" if documents == "article" else "section")


def test_a_finished_run_is_reported_by_its_name_alone(tiny):
    before, outcome = files_of(tiny), trained("--run", "tiny", cwd=tiny)
    assert "run tiny is done" in outcome.err
    assert outcome.result["seed"] == 5
    assert files_of(tiny) == before


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [("--topics", 4, "topics"), ("--seed", 6, "seed"), ("--alpha", "learned", "alpha")],
)
def test_other_settings_than_it_was_begun_with(tiny, option, value, name):
    before = files_of(tiny)
    error = call("train", "--run", "tiny", option, value, cwd=tiny).failed()
    assert f"'tiny' was begun with {name} = " in error
    assert f"not {value}" in error
    assert files_of(tiny) == before


def test_threads_are_no_contradiction_and_other_articles_are(tiny):
    assert call("train", "--run", "tiny", *TINY, "--threads", 2, cwd=tiny).code == 0
    error = call("train", "--run", "tiny", "--articles", "others", cwd=tiny).failed()
    assert "articles = articles, not others" in error


def test_runs_without_a_name_are_numbered(tiny):
    assert trained(*TINY, cwd=tiny).result["run"] == "online-3"
    assert trained(*TINY, "--seed", 6, cwd=tiny).result["run"] == "online-3-2"
    assert trained(*TINY, "--seed", 7, cwd=tiny).result["run"] == "online-3-3"
    assert trained(*TINY, "--seed", 6, cwd=tiny).result["run"] == "online-3-2"
    assert trained(*TINY, "--topics", 2, cwd=tiny).result["run"] == "online-2"


def test_articles_that_were_added_make_another_run(tiny):
    first = call("train", *TINY, "--json", cwd=tiny).result
    write_jsonl(tiny / "more.jsonl", 10, seed=1, first_id=1001)
    call("download", "--source", "jsonl", "--input", "more.jsonl", cwd=tiny)
    assert "its articles have changed" in call("train", "--run", first["run"], cwd=tiny).err
    assert call("train", *TINY, "--json", cwd=tiny).result["run"] == first["run"] + "-2"


def test_a_file_or_variable_cannot_contradict_a_run_either(tiny):
    (tiny / "pipeline.toml").write_text("[train]\ntopics = 9\n")
    assert "topics = 3" in call("train", "--run", "tiny", cwd=tiny).error
    (tiny / "pipeline.toml").unlink()
    assert "topics = 3" in call("train", "--run", "tiny", cwd=tiny, WIKITOPICS_TOPICS="9").failed()


def test_what_a_run_keeps_of_itself(tiny):
    run = tiny / "runs/tiny"
    provenance = json.loads((run / "provenance.json").read_text())
    assert (provenance["seed"], provenance["articles"]["number"]) == (5, 60)
    assert len(provenance["articles"]["shards"]) == 6
    assert "CC BY-SA" in provenance["articles"]["attribution"]
    assert {"numpy", "numba", "spacy", "wikitopics"} <= provenance["versions"].keys()
    assert provenance["corpus"]["documents"] == 60
    assert set(provenance["seconds"]) == {"text", "counting", "compiling", "training"}
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    passes = [line["passes"] for line in metrics]
    assert passes == sorted(passes)
    assert provenance["documents_seen"] == metrics[-1]["documents"]


def test_a_run_of_a_newer_version(tiny):
    path = tiny / "runs/tiny/provenance.json"
    path.write_text(path.read_text().replace('"version": 1,', '"version": 2,'))
    for argv in (("train", "--run", "tiny"), ("topics", "tiny"), ("evaluate", "tiny")):
        error = call(*argv, cwd=tiny).failed(3)
        assert "runs/tiny was written by a newer wikitopics" in error
        assert "upgrade" in error


@pytest.mark.parametrize("argv", ["evaluate", "topics", "infer"])
def test_a_missing_run(tiny, argv):
    error = call(argv, "nosuch", *(["-"] if argv == "infer" else []), cwd=tiny).failed()
    assert "no run 'nosuch' in runs: there are tiny" in error


def test_an_unfinished_run_has_no_topics_yet(tiny):
    (tiny / "runs/tiny/model.npz").unlink()
    error = call("topics", "tiny", cwd=tiny).failed()
    assert "go on with `python -m pipeline train --runs runs --run tiny`" in error
    assert trained("--runs", "runs", "--run", "tiny", cwd=tiny)
    assert call("topics", "tiny", cwd=tiny).code == 0


@pytest.mark.parametrize(
    ("file", "commands", "gone"),
    [
        pytest.param(*damage, marks=() if number in (0, 2, 4, 9, 11) else pytest.mark.slow)
        for number, damage in enumerate(DAMAGES)
    ],
)
def test_a_flipped_bit_is_found_and_nothing_deleted(tiny, file, commands, gone):
    (tiny / "x.txt").write_text("proton")
    assert (tiny / "runs/tiny/bigrams.tsv").read_bytes()  # there is something to damage
    for each in gone:
        path = tiny / each
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    rng = random.Random(file)
    path = rng.choice(sorted(tiny.glob(file)))
    whole = path.read_bytes()
    sound = arrays_of(path) if path.suffix == ".npz" else None
    for line in commands:
        for _ in range(4):
            path.write_bytes(whole)
            flip(path, rng.randrange(len(whole)), rng.randrange(8))
            before = files_of(tiny)
            threads = () if line.startswith("topics") else ("--threads", 1)
            extra = () if "new" not in line else ("--documents", "article", "--no-below", 1)
            outcome, after = call(*line.split(), *threads, *extra, cwd=tiny), files_of(tiny)
            if outcome.code == 0:  # a byte of a zip file that means nothing
                assert path.suffix == ".npz"
                assert arrays_of(path) == sound
            else:
                assert outcome.code == 3, (line, outcome)
                name = path.parent.name if path.name == "header.json" else path.name
                assert name in outcome.error
                assert all(after[name] == content for name, content in before.items())
            shutil.rmtree(tiny / "runs/new", ignore_errors=True)
            if "runs/tiny/model.npz" in gone:
                (tiny / "runs/tiny/model.npz").unlink(missing_ok=True)
    path.write_bytes(whole)
    for line in commands:
        if "new" not in line and "download" not in line:
            call(*line.split(), cwd=tiny).succeeded()


@pytest.mark.slow
def test_no_flipped_byte_of_a_run_ends_in_a_traceback(tiny):
    for name in ("provenance.json", "settings.toml", "bigrams.tsv"):
        path = tiny / "runs/tiny" / name
        whole, rng = path.read_bytes(), random.Random(name)
        for _ in range(60):
            flip(path, rng.randrange(len(whole)), rng.randrange(8))
            assert call("evaluate", "tiny", cwd=tiny).code in (0, 2, 3)
            assert call("train", "--run", "tiny", cwd=tiny).code in (0, 2, 3)
            path.write_bytes(whole)


@pytest.mark.parametrize(
    "name", ["model.npz", "settings.toml", "bigrams.tsv", "corpus/header.json"]
)
def test_a_file_that_was_cut_short_or_is_missing(tiny, name):
    (tiny / "x.txt").write_text("proton")
    path = tiny / "runs/tiny" / name
    argv = ("infer", "tiny", "x.txt") if name == "bigrams.tsv" else ("evaluate", "tiny")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert name in call(*argv, cwd=tiny).failed(3)
    path.unlink()
    assert call(*argv, cwd=tiny).failed(2 if name == "model.npz" else 3)


def test_a_checkpoint_of_another_corpus_is_refused(tiny):
    trained("--run", "other", *TINY, "--no-below", 2, "--bigrams", "none", cwd=tiny)
    (tiny / "runs/tiny/model.npz").unlink()
    shutil.copy(tiny / "runs/other/checkpoints/latest.npz", tiny / "runs/tiny/checkpoints")
    error = call("train", "--run", "tiny", cwd=tiny).failed(3)
    assert "latest.npz belongs to another corpus: delete it to start again" in error
    (tiny / "runs/tiny/checkpoints/latest.npz").unlink()
    trained("--run", "tiny", cwd=tiny)


def test_a_finished_run_does_not_depend_on_where_it_lies(tiny, tmp_path):
    moved = tmp_path / "elsewhere" / "kept"
    shutil.move(tiny / "runs/tiny", moved)
    assert call("topics", moved, cwd=tmp_path).code == 0
    assert call("evaluate", moved, cwd=tmp_path).code == 0
    assert call("infer", moved, "-", cwd=tmp_path, stdin="proton").code == 0
    assert arrays_of(moved / "model.npz").keys() == {
        *("alpha", "prevalence", "topic_word", "vocabulary")
    }
