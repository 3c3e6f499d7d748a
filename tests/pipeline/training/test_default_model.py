"""Tests of the model that is taken where none is named."""

import json
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from corpora.inputs import find_input
from corpora.inputs.matrices import CountsInMemory, corpus_of
from pipeline.runs.run_directory import RunDirectory
from pipeline.selection import select as select_module
from pipeline.settings import SelectSettings, TrainSettings
from pipeline.text.inputs import NamedInput
from pipeline.training import default_model
from pipeline.training.default_model import decide_model, memory_bytes, sampling_bytes
from tests.pipeline.support import MADE_UP, call


def decided(memory=16_000_000_000, needed=0, **settings):
    with (
        mock.patch.object(default_model, "memory_bytes", return_value=memory),
        mock.patch.object(default_model, "sampling_bytes", return_value=needed),
    ):
        return decide_model(TrainSettings(**settings)).model


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({}, "gibbs"),
        ({"needed": 8_000_000_000}, "gibbs"),
        ({"needed": 8_000_000_001}, "online"),
        ({"needed": 4_000_000_001, "chains": 2}, "gibbs"),  # chains are Gibbs sampling's
        ({"needed": 8_000_000_001, "sampler": "exact-dense"}, "gibbs"),
        ({"follow": True}, "online"),
        ({"batch_size": 10}, "online"),
        ({"eta": "learned"}, "online"),
        ({"eta": "0.2", "alpha": "0.3", "word_budget": 9}, "gibbs"),
        ({"cluster": "local:2"}, "online"),
        ({"cluster": "local:2", "learn_priors": "both"}, "gibbs"),
        ({"model": "online"}, "online"),
        ({"model": "poisson-mrf", "needed": 10**12}, "poisson-mrf"),
    ],
)
def test_it_is_gibbs_sampling_where_that_fits(settings, model):
    assert decided(**settings) == model


def test_one_line_says_which_and_why(caplog):
    caplog.set_level("INFO")
    decided(memory=2_000_000_000, needed=600_000_000)
    decided(memory=2_000_000_000, needed=6_000_000_000)
    decided(staleness=3)
    decided(model="gibbs")
    of_memory = "of 2.0 GB of memory"
    reasons = (
        f"gibbs: the best topics, in an estimated 0.6 {of_memory}",
        f"online: gibbs takes an estimated 6.0 {of_memory}, which may not fit",
        "online: it has --staleness",
    )
    assert caplog.messages == [f"--model {each}; name a --model to fix it" for each in reasons]


def test_a_run_that_was_begun_keeps_its_model(tiny):
    """A former version began it, whose default was `online`."""
    call("train", "--run", "old", "--model", "online", *MADE_UP, cwd=tiny).succeeded()
    again = call("train", "--run", "old", cwd=tiny).succeeded()
    assert "run old is done" in again.err
    assert "name a --model" not in again.err
    settings = RunDirectory(tiny / "runs" / "old").settings()
    assert decide_model(TrainSettings(), begun=settings).model == "online"
    assert decide_model(TrainSettings(model="gibbs"), begun=settings).model == "gibbs"


@pytest.mark.parametrize("model", ["online", "gibbs"])
def test_so_does_one_without_a_name(tiny, model):
    begun = call("train", "--model", model, *MADE_UP, "--json", cwd=tiny).result
    again = call("train", *MADE_UP, cwd=tiny).succeeded()
    assert f"run {begun['run']} is done" in again.err
    assert begun["run"] == f"{model}-3"
    other = call("train", *MADE_UP, "--no-below", "2", cwd=tiny).succeeded()
    assert "--model gibbs: the best topics, in an estimated less than 0.1 of " in other.err


@pytest.mark.usefixtures("images_left_out")
def test_select_goes_on_with_a_selection_and_takes_any_model_on_a_cluster(tiny, caplog):
    few = (*MADE_UP[:2], *MADE_UP[4:], "--topics", "2,3", "--max-passes", 2)
    call("select", "--model", "online", *few, cwd=tiny).succeeded()
    again = call("select", *few, cwd=tiny).succeeded()
    assert "2 of 2 runs are done" in again.err
    training = TrainSettings(articles=str(tiny / "articles"), runs=str(tiny), cluster="local:2")
    with (
        mock.patch.object(select_module, "open_selection", side_effect=KeyError) as opened,
        pytest.raises(KeyError),
    ):
        select_module.select(SelectSettings(topics="3"), training)
    asked = opened.call_args.args[0]
    assert (asked.model, asked.cluster) == ("gibbs", "local:2")


def test_counts_in_memory_are_known():
    counts = sparse.csr_array(np.array([[100_000, 0], [3, 20]]))
    named = NamedInput(CountsInMemory.of(corpus_of(counts, ["ant", "bee"])), {})
    assert sampling_bytes(TrainSettings(), named) == 12 * 100_023


def test_sizes_on_disk(tmp_path):
    lines = [json.dumps({"id": str(n), "text": "water flows"}) for n in range(5)]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(lines))
    counts = tmp_path / "docword.few.txt"
    counts.write_text("1\n2\n1\n1 1 4\n")
    (tmp_path / "vocab.few.txt").write_text("water\nflow\n")
    for path, kind, n_bytes in ((texts, 3, texts.stat().st_size), (counts, 6, 12 + 11)):
        named = NamedInput(find_input(path), {})
        assert sampling_bytes(TrainSettings(), named) == kind * n_bytes
    assert sampling_bytes(TrainSettings(), None) == 0
    assert sampling_bytes(TrainSettings(articles=str(tmp_path / "none")), None) == 0


def test_memory_is_that_of_the_container_if_it_has_less(tmp_path):
    limit = tmp_path / "memory.max"
    total = SimpleNamespace(total=1000)
    with (
        mock.patch.object(default_model, "CGROUP_LIMITS", (limit, tmp_path / "none")),
        mock.patch.object(default_model.psutil, "virtual_memory", return_value=total),
    ):
        assert memory_bytes() == 1000
        for text, expected in (("max\n", 1000), ("700\n", 700), ("9000\n", 1000)):
            limit.write_text(text)
            assert memory_bytes() == expected
