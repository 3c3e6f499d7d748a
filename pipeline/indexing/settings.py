"""Settings by which an index reads texts: its own, or those of a run."""

from dataclasses import fields, replace

from corpora import Pruning
from pipeline.errors import UsageError
from pipeline.runs.loaded_run import LoadedRun
from pipeline.settings import IndexSettings, TrainSettings
from pipeline.text.counting import bigrams_of

PRUNING = ("no_below", "no_above", "keep_n")
"""Settings by which words are kept."""
READING = (
    "documents",
    *TrainSettings.GROUPS["text"],
    *(name for name in TrainSettings.GROUPS["vocabulary"] if name not in PRUNING),
)
"""Settings that a run fixes: how texts are read, and which bigrams are joined."""
OF_INPUT = ("input", "format", "text_column", "id_column")


def check_reading(reading: TrainSettings) -> None:
    """Raise UsageError if a setting of words or bigrams is impossible."""
    try:
        Pruning(reading.no_below, reading.no_above, reading.keep_n)
        bigrams_of(lambda _: (), bool, reading)
    except ValueError as error:
        raise UsageError(str(error)) from error


def own_settings(settings: IndexSettings) -> TrainSettings:
    """Return the settings of the text stage that were given, with all documents to learn from."""
    shared = {each.name for each in fields(TrainSettings)} & {
        each.name for each in fields(IndexSettings)
    }
    given = {name: getattr(settings, name) for name in shared}
    return TrainSettings(**given, validation=0.0, test=0.0)


def like_run(settings: IndexSettings, run: LoadedRun) -> TrainSettings:
    """Return the settings of the text stage of a run, for other articles.

    Raises UsageError if the run learned from counts, or a setting is given that the run has fixed.
    """
    if run.settings.counts:
        raise UsageError(
            f"--like {settings.like}: run {run.name} learned from counts, {run.settings.counts}, "
            "and reads no texts: leave --like out"
        )
    default = IndexSettings()
    for name in READING:
        value = getattr(settings, name)
        if value not in (getattr(default, name), getattr(run.settings, name)):
            raise UsageError(
                f"--{name.replace('_', '-')}: run {run.name} of --like has another one, "
                f"{getattr(run.settings, name)!r}: leave one of them out"
            )
    own = {name: getattr(settings, name) for name in (*OF_INPUT, *PRUNING, "runs", "threads")}
    fixed = {name: getattr(run.settings, name) for name in READING}
    return replace(TrainSettings(**own, **fixed), validation=0.0, test=0.0)
