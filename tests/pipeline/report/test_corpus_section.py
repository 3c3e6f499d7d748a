import json
from dataclasses import replace

import pytest

from corpora import Corpus, article_of, part_of
from pipeline.report.corpus_section import corpus_section
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.run_directory import RunDirectory
from tests.pipeline.report.made_up_runs import loaded


@pytest.fixture(scope="module")
def run(tiny_gibbs):
    return RunDirectory(tiny_gibbs / "runs/gibbs")


def test_parts_are_those_that_documents_fall_into(run):
    settings, corpus = run.settings(), Corpus.load(run.corpus_path)
    section = corpus_section(LoadedRun(run))
    assert [part.name for part in section.parts] == ["train", "validation", "test"]
    for part in section.parts:
        rows = [
            d
            for d, name in enumerate(corpus.doc_ids)
            if part_of(name, settings.validation, settings.test) == part.name
        ]
        assert part.documents == len(rows)
        assert part.articles == len({article_of(corpus.doc_ids[d]) for d in rows})
        assert part.tokens == corpus.counts[rows].sum()
        assert part.unknown == corpus.n_unknown[rows].sum()
    assert section.words == corpus.n_words
    assert section.bigrams == sum("_" in word for word in corpus.vocabulary) > 0


def test_rules_of_pruning_add_up(run):
    section = corpus_section(LoadedRun(run))
    assert section.words_before == section.words + sum(rule.words for rule in section.pruning)


def test_each_rule_has_its_own_count(run):
    about = {"n_words": 60, "n_rare": 1, "n_common": 2, "n_beyond": 3, "commonest": ["the", "of"]}
    known = {**run.provenance(), "pruning": json.loads(json.dumps(about))}
    settings = replace(run.settings(), no_below=4, no_above=0.25, keep_n=5000)
    section = corpus_section(loaded(run, settings=settings, provenance=known))
    assert [(rule.rule, rule.words) for rule in section.pruning] == [
        ("in fewer than 4 articles (no_below)", 1),
        ("in more than 25% of the articles (no_above)", 2),
        ("beyond the 5,000 commonest (keep_n)", 3),
    ]
    assert [rule.examples for rule in section.pruning] == [(), ("the", "of"), ()]
    assert section.words_before == 60


def test_runs_of_older_versions_do_not_say(run):
    known = {name: value for name, value in run.provenance().items() if name != "pruning"}
    section = corpus_section(loaded(run, provenance=known))
    assert section.words_before is None
    assert section.pruning == ()
