"""The guide's sections, each from nothing to a report, on files made here."""

import csv
import random
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_matrix

from tests.pipeline.support import call

GUIDE = (Path(__file__).parents[2] / "docs/guides/own-texts.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (I have [^\n]+)\n(.*?)(?=^## )", GUIDE, re.MULTILINE | re.DOTALL))
LINE = re.compile(r"^    (\$ )?(.+)$", re.MULTILINE)
THEMES = (
    "river lake mountain valley forest glacier island ocean desert canyon",
    "guitar piano violin opera singer melody drummer concert orchestra album",
    "electron proton atom molecule photon neutron energy particle nucleus laser",
    "bread butter sugar oven recipe kitchen cake flour salt egg",
    "judge court law trial lawyer prison crime police witness verdict",
    "horse cow sheep farm field milk animal dog grass barn",
    "ship captain sailor harbour wind storm anchor wave sail voyage",
    "doctor nurse hospital disease patient medicine surgery fever blood illness",
)


def made_up_texts(number, seed=0):
    rng = random.Random(seed)
    for i in range(number):
        theme = THEMES[i % len(THEMES)].split()
        pairs = (rng.sample(theme, 2) for _ in range(8))
        yield " ".join(f"It is the {a} of a {b}." for a, b in pairs)


def write_csv(path, first, number):
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["number", "year", "review"])
        for i, text in enumerate(made_up_texts(number, seed=first)):
            table.writerow([first + i, 2000 + i % 20, text])


def make_csv(directory):
    write_csv(directory / "reviews.csv", 1, 300)
    write_csv(directory / "new.csv", 1001, 20)


def make_folder(directory):
    (directory / "letters").mkdir()
    for i, text in enumerate(made_up_texts(300)):
        (directory / "letters" / f"{i:03d}.txt").write_text(text)


def counts():
    rng = np.random.default_rng(0)
    rates = rng.dirichlet(np.full(50, 0.1), size=5)
    return np.array([rng.multinomial(40, rates[i % 5]) for i in range(200)], dtype=np.int64)


def make_counts(directory):
    mmwrite(directory / "visits.mtx", coo_array(counts()))
    (directory / "visits.vocab").write_text("".join(f"place {w}\n" for w in range(50)))


def make_parquet(directory):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    (directory / "simple").mkdir()
    for part in range(2):
        texts = list(made_up_texts(150, seed=part))
        ids = range(150 * part, 150 * part + 150)
        columns = {
            "id": [str(i + 1) for i in ids],
            "url": [f"https://simple.wikipedia.org/wiki/Article_{i}" for i in ids],
            "title": [f"Article {i}" for i in ids],
            "text": texts,
        }
        pq.write_table(pa.table(columns), directory / f"simple/train-{part:05d}.parquet")


def make_cells(directory):
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(csr_matrix(counts().astype(np.float32)))
    data.obs_names = [f"cell {i}" for i in range(200)]
    data.var_names = [f"GENE{w}" for w in range(50)]
    data.write_h5ad(directory / "cells.h5ad")


MAKERS = {
    "I have a CSV": make_csv,
    "I have a folder": make_folder,
    "I have Wikipedia as Parquet": make_parquet,
    "I have counts": make_counts,
    "I have single cells": make_cells,
}


def commands_in(section):
    """Yield (arguments, lines that the guide shows below) of each command."""
    found = []
    for prompt, line in LINE.findall(section):
        if prompt:
            found.append((line, []))
        elif line != "…":
            found[-1][1].append(line)
    for line, shown in found:
        program, _, arguments = line.partition("python -m pipeline ")
        if not program:
            yield shlex.split(arguments), shown


def test_every_section_is_tried():
    assert list(SECTIONS) == list(MAKERS)


@pytest.mark.slow
@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_leads_from_nothing_to_a_report(title, tmp_path):
    MAKERS[title](tmp_path)
    commands = list(commands_in(SECTIONS[title]))
    assert {arguments[0] for arguments, _ in commands} >= {"train", "report"}
    for arguments, shown in commands:
        ended = call(*arguments, "--threads", 1, cwd=tmp_path).succeeded()
        assert set(shown) <= set(ended.err.splitlines() + ended.out.splitlines())
        if arguments[0] == "report":
            name = arguments[1] if "/" in arguments[1] else f"runs/{arguments[1]}"
            assert "<html" in (tmp_path / name / "report.html").read_text("utf-8")
