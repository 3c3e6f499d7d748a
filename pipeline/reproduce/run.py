"""`reproduce`: a published experiment again, our figures beside the published ones."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora import writer_lock
from corpora.files import atomic_write_text, remove_partial_files
from pipeline.cache.results import ResultCache
from pipeline.errors import UsageError
from pipeline.figures.write import write_figures
from pipeline.reproduce.buntine2009 import convergence_view as convergence
from pipeline.reproduce.buntine2009 import model_selection_view as model_selection
from pipeline.reproduce.buntine2009 import table_1_view as table_1
from pipeline.reproduce.capdevila2018 import convergence_view as l2r_convergence
from pipeline.reproduce.capdevila2018 import kl_view as l2r_kl
from pipeline.reproduce.cemgil2019 import abalone_view as bam_abalone
from pipeline.reproduce.cemgil2019 import decompositions_view as bam_decompositions
from pipeline.reproduce.cemgil2019 import histogram_view as bam_histogram
from pipeline.reproduce.cemgil2019 import letters_view as bam_letters
from pipeline.reproduce.cemgil2019 import parafac_view as bam_parafac
from pipeline.reproduce.cemgil2019 import toy_view as bam_toy
from pipeline.reproduce.inouye2015 import dependencies_view as lpmrf_dependencies
from pipeline.reproduce.inouye2015 import perplexity_view as lpmrf_perplexity
from pipeline.reproduce.inouye2015 import scaling_view as lpmrf_scaling
from pipeline.reproduce.results import command_of
from pipeline.reproduce.settings import EXPERIMENTS
from pipeline.version import software_version

if TYPE_CHECKING:
    from pipeline.reproduce.settings import ReproduceSettings

MODULES: dict[str, Any] = dict(
    zip(
        EXPERIMENTS,
        (
            *(table_1, convergence, model_selection, l2r_kl, l2r_convergence),
            *(bam_toy, bam_histogram, bam_parafac),
            *(bam_abalone, bam_letters, bam_decompositions),
            *(lpmrf_perplexity.CLASSIC3, lpmrf_perplexity.WIKIPEDIA),
            *(lpmrf_dependencies, lpmrf_scaling),
        ),
        strict=True,
    )
)
"""Each has `run(settings, cache)`, whose result is what its `as_json` and `pictures` take, and
`print_result` of what `as_json` made of it."""


def reproduce(settings: ReproduceSettings, experiment: str) -> dict[str, Any]:
    """Run an experiment and write its figures as JSON and as pictures.

    Raises
    ------
    UsageError
        If a setting makes no sense, or is one of other experiments.
    """
    _check(settings, experiment)
    module = MODULES[experiment]
    directory = Path(settings.output or Path("reproduce") / experiment)
    directory.mkdir(parents=True, exist_ok=True)
    with writer_lock(directory):
        remove_partial_files(directory)
        found = module.run(settings, ResultCache())
        result = {
            "experiment": experiment,
            "scale": settings.scale,
            "seed": settings.seed,
            "command": command_of(settings, experiment),
            "version": software_version(),
            "date": datetime.now(UTC).date().isoformat(),
            "path": str(directory),
            "pictures": [],
            **module.as_json(found),
        }
        written = write_figures(module.pictures(found), directory)
        result["pictures"] = [path.name for path in written]
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        atomic_write_text(directory / f"{result['name']}.json", text)
    return result


def _check(settings: ReproduceSettings, experiment: str) -> None:
    """Refuse settings of other experiments, and what makes no sense."""
    for each in fields(settings):
        experiments, value = each.metadata["of"], getattr(settings, each.name)
        if experiments and experiment not in experiments and value != each.default:
            raise UsageError(
                f"--{each.name.replace('_', '-')} is for {' or '.join(experiments)}, not "
                f"{experiment}: leave it out"
            )
    check_numbers(settings)


def check_numbers(settings: ReproduceSettings) -> None:
    """Refuse numbers that make no sense.

    Raises
    ------
    UsageError
        If there is one; the message says which and what it may be.
    """
    if not 0 <= settings.seed < 2**63:
        raise UsageError(f"--seed must be from 0 to 2**63 - 1, found {settings.seed}")
    for name, number, least in (
        ("--pairs", settings.pairs, 2),
        ("--held-out", settings.held_out, 2),
        ("--topics", settings.topics, 1),
        ("--scored", settings.scored, 2),
        ("--max-tokens", settings.max_tokens, 2),
        ("--particles", settings.particles, 2),
        ("--repeats", settings.repeats, 2),
        ("--moves", settings.moves, 0),
        ("--words", settings.words, 2),
        ("--documents", settings.documents, 20),
    ):
        if number is not None and number < least:
            raise UsageError(f"{name} must be at least {least}, found {number}")


def print_reproduction(result: dict[str, Any]) -> None:
    """Tables for people."""
    MODULES[result["experiment"]].print_result(result)
    pictures = " and pictures" if result["pictures"] else ""
    print(f"{result['path']}: {result['name']}.json{pictures}")
