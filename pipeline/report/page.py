"""A report as one HTML page that needs no network and no other file.

Jinja escapes everything except our own SVG figures, which are inlined. Our script is the only one
that the page's content security policy allows; without it the page still has every table and
figure.
"""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.report.page_data import clean, embedded_json, page_data, safe_url
from pipeline.report.sections import LikelihoodRow, Report, RunReport
from pipeline.version import software_version

SCRIPTS = (
    *("page_base.js", "page_relevance_slider.js", "page_topic_drawings.js", "page_search.js"),
    *("page_documents.js", "page_runs.js"),
)
STYLES = ("page.css", "page_sections.css", "page_print.css")
_BY_TRUST = ("exact", "unbiased", "lower bound", "biased", "plug-in", "upward biased")
"""Directions in order of preference for the summary."""
_MAX_UNKNOWN = 0.2  # Share of unknown words beyond which the summary mentions them
_MAX_ALONE = 5  # Topics without a partner that the alignment shows; more are folded


def render(report: Report, figures: Mapping[tuple[int | None, str], str]) -> str:
    """Return the report as one page.

    `figures` are the output of `page_svg`, by index of the run (None for the comparison) and name;
    any may be missing.
    """
    runs = [
        {"run": run, "id": f"run-{i + 1}", "figures": _figures_of(figures, i)}
        | {"summary": run_summary(run), "labels": run.labels, "sections": _sections(run)}
        for i, run in enumerate(report.runs)
    ]
    return render_template(
        "page.html.j2",
        page_data(report),
        title=report.title,
        report=report,
        runs=runs,
        comparison_figures=_figures_of(figures, None),
        alignments=_alignments(report, _figures_of(figures, None)),
    )


def render_template(
    name: str, data: dict[str, Any] | None, scripts: tuple[str, ...] = SCRIPTS, **context: Any
) -> str:
    """Return a page from a file in `templates` that fills the blocks of `base.html.j2`.

    `data` is that of the `scripts`, files in `templates` too; None if they have only themes and
    tables to handle. Strings of the context are escaped, with visible control characters, unless
    they are `markupsafe.Markup`.
    """
    template = _environment().get_template(name)
    embedded = None if data is None else embedded_json(data)
    return template.render(data=embedded, **_script(scripts), **context)


@cache
def _script(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the script of these files, and the hash by which the page's policy allows it."""
    inside = "\n".join(_source(name) for name in names)
    script = f'(() => {{\n"use strict";\n{inside}}})();\n'
    digest = hashlib.sha256(script.encode()).digest()
    return {
        "script": Markup(script),  # noqa: S704 - ours
        "script_hash": base64.b64encode(digest).decode(),
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"share": share, "number": number, "bar": _bar, "of_log_p": of_log_p}
    environment.filters["safe_url"] = safe_url
    environment.globals |= {
        "software_version": software_version(),
        "max_alone": _MAX_ALONE,
        "style": Markup("\n".join(_source(name) for name in STYLES)),  # noqa: S704 - ours
    }
    return environment


def _source(name: str) -> str:
    """Return a file of the templates with the line ends that the browser sees."""
    loader = PackageLoader("pipeline.report", "templates")
    return loader.get_source(Environment(autoescape=True), name)[0]


def _shown(value: object) -> object:
    """Make control characters visible in every string that is not markup."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def share(value: float | None) -> str:
    r"""Format a share in percent, with two digits below ten; only 1 is 100 %.

    The space before the sign is a no-break space.

    >>> [share(p).replace("\u00a0", " ") for p in (0.1234, 0.0123, 0.00001, 0.0, 0.9999)]
    ['12 %', '1.2 %', '<0.01 %', '0 %', '>99.9 %']
    >>> share(None)
    '–'
    """
    if value is None:
        return "–"
    percent = 100 * value
    if percent == 0:
        return "0\u00a0%"
    if percent < 0.01:
        return "<0.01\u00a0%"
    if 99.5 < percent < 100:
        return f"{percent:.1f}\u00a0%" if percent < 99.95 else ">99.9\u00a0%"
    digits = 0 if percent >= 9.95 else 1 if percent >= 0.995 else 2
    return f"{percent:.{digits}f}\u00a0%"


def number(value: float | None, digits: int = 0) -> str:
    """Format a number with commas and a true minus sign; None is a dash."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "\u2212")


def of_log_p(direction: str) -> str:
    """Add "of log p" to a lower bound, which is an upper bound of the perplexity.

    >>> of_log_p("lower bound"), of_log_p("unbiased")
    ('lower bound of log p', 'unbiased')
    """
    return f"{direction} of log p" if direction == "lower bound" else direction


def _bar(value: float, largest: float) -> Markup:
    """Return a bar of length `value` / `largest`, in percent of its box."""
    width = 100 * value / largest if largest > 0 else 0
    return Markup('<span class="bar" style="inline-size:{}%"></span>').format(f"{width:.1f}")


def run_summary(run: RunReport) -> str:
    """Return one sentence on the run."""
    topics = len(run.topics.topics)
    corpus = run.corpus
    documents = sum(part.documents for part in corpus.parts)
    tokens = sum(part.tokens for part in corpus.parts)
    sentence = (
        f"{topics:,} {_plural('topic', topics)} of {documents:,} "
        f"{_plural(corpus.unit, documents)} ({tokens:,} tokens of {corpus.words:,} different words)"
    )
    row = summary_row(run)
    if row is None:
        return f"{sentence}."
    error = row.perplexity_standard_error
    spread = "" if error is None else f"\u00a0±\u00a0{error:,.1f}"
    sentence += f"; held-out perplexity {row.perplexity:,.1f}{spread} by {row.method}"
    unknown = run.likelihood.unknown_share if run.likelihood is not None else 0.0
    if unknown > _MAX_UNKNOWN:
        sentence += f"; {share(unknown)} of the held-out tokens are words unknown to the model"
    return f"{sentence}."


def summary_row(run: RunReport) -> LikelihoodRow | None:
    """Return the first estimate of the most trusted direction."""
    if run.likelihood is None or not run.likelihood.rows:
        return None
    return min(run.likelihood.rows, key=lambda row: _BY_TRUST.index(row.direction))


def _plural(noun: str, n: int) -> str:
    return noun if n == 1 else f"{noun}s"


def _sections(run: RunReport) -> list[tuple[str, str]]:
    """Return (end of the id, heading) of each section of a run, in their order."""
    there = [
        ("corpus", "Corpus", True),
        ("training", "Training", run.training is not None),
        ("topics", "Topics", True),
        ("all-topics", "All topics", True),
        ("active", "Active topics", run.shapes is not None),
        ("dependencies", "Dependencies between words", run.dependencies is not None),
        ("documents", "Documents", run.documents is not None),
        ("coherence", "Coherence", run.coherence is not None),
        ("likelihood", "Held-out likelihood", run.likelihood is not None),
        ("provenance", "Provenance", True),
    ]
    return [(name, heading) for name, heading, is_there in there if is_there]


def _figures_of(
    figures: Mapping[tuple[int | None, str], str], of: int | None
) -> defaultdict[str, Markup]:
    """Return the figures of a run by name; a missing one is empty."""
    chosen = {name: svg for (whose, name), svg in figures.items() if whose == of}
    return defaultdict(Markup, {name: Markup(svg) for name, svg in chosen.items()})  # noqa: S704


def _alignments(report: Report, figures: Mapping[str, Markup]) -> list[dict[str, Any]]:
    if report.comparison is None:
        return []
    labels = {run.name: run.labels for run in report.runs}
    first = 0 if "alignment-0" in figures else 1
    return [
        {
            "alignment": alignment,
            "figure": figures[f"alignment-{i}"],
            "first": labels.get(alignment.first, {}),
            "second": labels.get(alignment.second, {}),
        }
        for i, alignment in enumerate(report.comparison.alignments, start=first)
    ]
