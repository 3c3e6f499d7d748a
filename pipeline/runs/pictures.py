"""Figures of a run's report as objects that a notebook shows."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from corpora.files import atomic_write
from pipeline.figures.write import FORMATS, image_of
from pipeline.report.figures import all_figures
from pipeline.report.report import run_report
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import ReportSettings

DPI = 80  # Dots an inch in notebooks: a figure is 10 inches wide


@dataclass(frozen=True, eq=False)
class Picture:
    """Figure on a white background, which a notebook shows."""

    name: str
    title: str
    description: str  # One or two sentences with the main numbers
    draw: Callable[[Any], None]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure as SVG or PNG, as the name ends, and return the path."""
        target = Path(path)
        kind = target.suffix[1:].lower()
        if kind not in FORMATS:
            raise ValueError(f"{target} must end in {' or '.join(f'.{each}' for each in FORMATS)}")
        with atomic_write(target) as stream:
            stream.write(image_of(self.draw, kind))
        return target

    def __repr__(self) -> str:
        return f"<Picture {self.name}: {self.title}>"

    def _repr_png_(self) -> bytes:
        return image_of(self.draw, "png", DPI)


class Pictures(dict[str, Picture]):
    """Pictures by name, which a notebook lists."""

    def _repr_html_(self) -> str:
        rows = (
            f"<li><code>{escape(each.name)}</code>: {escape(each.title)}</li>"
            for each in self.values()
        )
        return f"<ul>{''.join(rows)}</ul>"


def pictures_of(run: LoadedRun, n_threads: int) -> Pictures:
    """Return the figures of a run's report, but for those of likelihoods."""
    settings = ReportSettings(documents=0, scored=0)
    about = run_report(run, run.name, settings, n_threads)
    return Pictures(
        (each.name, Picture(each.name, each.title, each.description, each.draw))
        for each in all_figures(about, run.model)
    )
