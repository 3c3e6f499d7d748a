import json
from dataclasses import replace

import pytest

from corpora.tokens.annotation_file import load_annotated, save_annotated
from tests.pipeline.support import TINY, call


def pass_over(tokens, *numbers):
    changed = []
    for path in tokens.glob("*/*.npz"):
        annotated = load_annotated(path, path.stem)
        doc_ids = tuple(f"en:{n}" for n in numbers if f"en:{n}" in annotated.doc_ids)
        if doc_ids:
            save_annotated(replace(annotated, skipped=doc_ids), path, path.stem)
            changed.append(path)
    return changed


def provenance_of(directory, run):
    provenance = json.loads((directory / "runs" / run / "provenance.json").read_text())
    assert isinstance(provenance, dict)
    return provenance


@pytest.mark.parametrize(
    "following", [(), pytest.param(("--follow", "--follow-after", 15), marks=pytest.mark.slow)]
)
def test_articles_passed_over_are_told_and_recorded(tiny, following):
    (file,) = pass_over(tiny / "articles/tokens", 22, 27)
    outcome = call("train", *TINY, *following, "--run", "again", cwd=tiny).succeeded()
    (warning,) = [line for line in outcome.err.splitlines() if "killed the process" in line]
    assert "2 of the articles in articles" in warning
    assert "en:22 Article 22, en:27 Article 27;" in warning
    assert f"delete {file.relative_to(tiny)}" in warning
    annotation = provenance_of(tiny, "again")["annotation"]
    assert annotation["passed_over"] == ["en:22", "en:27"]
    assert "spacy_model" in annotation
    outcome = call("evaluate", "again", "--articles", "articles", "--threads", 1, cwd=tiny)
    assert outcome.err.count("killed the process") == 1
    file.unlink()
    outcome = call("train", *TINY, *following, "--run", "healed", cwd=tiny)
    assert "killed the process" not in outcome.err
    assert provenance_of(tiny, "healed")["annotation"]["passed_over"] == []


def test_of_many_articles_passed_over_the_first_are_named(tiny):
    pass_over(tiny / "articles/tokens", *range(1, 9))
    outcome = call("train", *TINY, "--run", "again", cwd=tiny)
    assert "8 of the articles in articles" in outcome.err
    assert "en:5 Article 5 and 3 more; to have them tried again delete" in outcome.err
    assert len(provenance_of(tiny, "again")["annotation"]["passed_over"]) == 8
