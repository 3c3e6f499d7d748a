"""`reading-test`: questions on the topics of models, as a page for readers and a key."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpora.files import atomic_write_text
from evaluation.topics.reading import Item, ratings, sheets, topic_intrusion, word_intrusion
from evaluation.topics.reading.question import RATING, TASKS, TOPIC_INTRUSION, WORD_INTRUSION
from evaluation.topics.reading.topic_intruders import N_TOPICS, N_WORDS
from models.parallel import effective_n_jobs
from pipeline.errors import UsageError
from pipeline.exports.targets import check_file
from pipeline.reading.asked_models import AskedModel, asked_models
from pipeline.reading.documents import shown_documents
from pipeline.reading.key_file import ReadingTest, write_key
from pipeline.reading.page import reading_page
from pipeline.setting_sources import check_least, check_seed
from pipeline.settings import ReadingTestSettings
from pipeline.version import software_version

logger = logging.getLogger(__name__)


def reading_test(
    settings: ReadingTestSettings, names: Sequence[str], *, force: bool = False
) -> dict[str, Any]:
    """Write the page and the key of a test about these models.

    Raises UsageError if a setting is invalid, a file exists and `force` is not given, a model has
    one topic only, or no question can be asked; CorpusFormatError or ModelFormatError if a model is
    damaged.
    """
    tasks = _tasks(settings)
    page = Path(settings.output)
    key = Path(settings.key) if settings.key else page.with_suffix(".key.json")
    if key == page:
        raise UsageError(f"--key and --output are both {page}: name two files")
    for path, what in ((page, "the page"), (key, "the key")):
        check_file(str(path), what, force=force)
    models = asked_models(settings.runs, names, settings.vocabulary or None)
    rng = np.random.default_rng(settings.seed)
    items: list[Item] = []
    for m, model in enumerate(models):
        items += _items(settings, tasks, model, rng, (m, len(models)))
    if not items:
        raise UsageError(f"--tasks: there is no question to ask of {', '.join(names)}")
    dealt = sheets(items, settings.questions, n_repeated=settings.repeated, random_state=rng)
    test = ReadingTest.of(dealt)
    about = {
        "software": f"wikitopics {software_version()}",
        "seed": settings.seed,
        "models": {each.name: name for each, name in zip(models, names, strict=True)},
    }
    write_key(key, test, about)  # first: a page without its key would be answered in vain
    atomic_write_text(page, reading_page(test, "Reading test"))
    return {
        "page": str(page),
        "key": str(key),
        "test": test.id,
        "models": [each.name for each in models],
        "questions": len(items),
        "sheets": [sum(map(len, sheet)) for sheet in test.sheets],
        "tasks": {
            task: {
                each.name: sum(
                    item.question.task == task and item.model == each.name for item in items
                )
                for each in models
            }
            for task in tasks
        },
    }


def _tasks(settings: ReadingTestSettings) -> tuple[str, ...]:
    check_least(settings, questions=2, repeated=0, documents=1, topics=1)
    check_seed(settings.seed)
    if settings.repeated > settings.questions // 4:
        raise UsageError(
            f"--repeated must be at most a quarter of --questions {settings.questions}, found "
            f"{settings.repeated}"
        )
    asked = [each.strip() for each in settings.tasks.split(",") if each.strip()]
    unknown = next((each for each in asked if each not in TASKS), None)
    if unknown is not None or not asked:
        raise UsageError(
            f"--tasks must be some of {', '.join(TASKS)}, found {unknown or settings.tasks!r}"
        )
    return tuple(task for task in TASKS if task in asked)


def _items(
    settings: ReadingTestSettings,
    tasks: tuple[str, ...],
    model: AskedModel,
    rng: np.random.Generator,
    turn: tuple[int, int],
) -> list[Item]:
    """Return the questions on one model, the m-th of M if `turn` is (m, M)."""
    rows, vocabulary, name = model.topic_word, model.vocabulary, model.name
    if len(rows) < 2:
        raise UsageError(f"{name} has one topic only: an intruder comes from another topic")
    items: list[Item] = []
    asked = rng.permutation(len(rows))[: settings.topics or len(rows)]
    units = {str(k) for k in asked.tolist()}
    for task in tasks:
        if task == WORD_INTRUSION:
            found = word_intrusion(rows, vocabulary, model=name, random_state=rng)
        elif task == RATING:
            found = ratings(rows, vocabulary, model=name)
        else:
            items += _of_documents(settings, model, rng, turn)
            continue
        found = [item for item in found if item.unit in units]
        if len(found) < len(asked):
            logger.warning(
                "%s: %d of %d topics get no %s question: they have too few words of their own",
                *(name, len(asked) - len(found), len(asked), task),
            )
        items += found
    return items


def _of_documents(
    settings: ReadingTestSettings,
    model: AskedModel,
    rng: np.random.Generator,
    turn: tuple[int, int],
) -> list[Item]:
    if model.run is None or len(model.topic_word) <= N_TOPICS:
        why = "only a run has documents" if model.run is None else "it has fewer than four topics"
        logger.warning("%s: no %s questions: %s", model.name, TOPIC_INTRUSION, why)
        return []
    n_threads = effective_n_jobs(settings.threads)
    shown = shown_documents(model.run, settings.documents, rng, turn, n_threads)
    top = model.run.model.topics.top_words(N_WORDS)
    topics = [", ".join(model.vocabulary[w] for w in words) for words in top.tolist()]
    found = topic_intrusion(
        shown.shares,
        topics,
        shown.excerpts,
        titles=shown.titles,
        sources=shown.sources,
        ids=shown.ids,
        model=model.name,
        random_state=rng,
    )
    if len(found) < settings.documents:
        logger.warning(
            "%s: %d %s questions, not %d: no more documents have their text in the store and three "
            "topics of 5 %% each",
            *(model.name, len(found), TOPIC_INTRUSION, settings.documents),
        )
    return found
