import json

import numpy as np
import pytest

from corpora import mapped_split
from models import load_model
from pipeline.cache.results import ResultCache
from pipeline.runs.run_directory import RunDirectory
from tests.pipeline.support import TINY, call

QUICK = ("--threads", 1, "--documents", 2, "--scored", 5, "--page-only")


@pytest.fixture
def _parts_on_disk(monkeypatch):
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 0)


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if "second" not in k}
    return [without_times(each) for each in value] if isinstance(value, list) else value


@pytest.mark.usefixtures("_parts_on_disk")
def test_training_gives_the_same_model(tiny):
    call("train", "--run", "mapped", *TINY, cwd=tiny).succeeded()
    mapped, known = (load_model(tiny / "runs" / name / "model.npz") for name in ("mapped", "tiny"))
    assert list((tiny / "runs/mapped/corpus").glob("parts-*/train/header.json"))
    assert not list((tiny / "runs/tiny/corpus").glob("parts-*"))
    assert np.array_equal(mapped.topics.topic_word, known.topics.topic_word)
    assert mapped.prevalence is not None
    assert known.prevalence is not None
    assert mapped.prevalence.tolist() == known.prevalence.tolist()
    key = "training_corpus_hash"
    assert mapped.header[key] == known.header[key]
    # On from the corpus alone, as after an interruption.
    (tiny / "runs/mapped/model.npz").unlink()
    (tiny / "runs/mapped/checkpoints/latest.npz").unlink()
    call("train", "--run", "mapped", "--threads", 1, cwd=tiny).succeeded()
    again = load_model(tiny / "runs/mapped/model.npz")
    assert np.array_equal(again.topics.topic_word, known.topics.topic_word)
    mapped_run, run = (RunDirectory(tiny / "runs" / name) for name in ("mapped", "tiny"))
    assert mapped_run.provenance()["corpus"] == run.provenance()["corpus"]


@pytest.mark.slow
def test_a_report_says_the_same(tiny, monkeypatch):
    def reported():
        ResultCache().clear()
        call("report", "tiny", *QUICK, cwd=tiny).succeeded()
        text = (tiny / "runs/tiny/report.html").read_text("utf-8")
        start = text.index('id="page-data">') + len('id="page-data">')
        return without_times(json.loads(text[start : text.index("</script>", start)]))

    expected = reported()
    monkeypatch.setattr(mapped_split, "LARGE_BYTES", 0)
    assert reported() == expected
    assert list((tiny / "runs/tiny/corpus").glob("parts-*"))
