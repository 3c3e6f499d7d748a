"""Key of a reading test: what its page shows, and the right answers, in one JSON file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from corpora.errors import CorpusFormatError, UnsupportedVersionError
from corpora.files import atomic_write_text, sha256_of
from evaluation.topics.reading import Item, Question, Sheets
from evaluation.topics.reading.question import TASKS

KEY: Final = "wikitopics reading test key"
VERSION: Final = 1


@dataclass(frozen=True)
class ReadingTest:
    """A test: its questions with their key, and what the page shows of them."""

    items: tuple[Item, ...]
    sheets: tuple[tuple[tuple[int, ...], ...], ...]
    """See `evaluation.topics.reading.Sheets`."""

    @classmethod
    def of(cls, dealt: Sheets) -> "ReadingTest":
        """Return the test of these sheets."""
        return cls(dealt.items, dealt.sheets)

    @property
    def shown(self) -> dict[str, Any]:
        """Content of the page: questions by id, and groups of ids on each sheet."""
        return {
            "questions": {
                question_id(i): {
                    "task": item.question.task,
                    "options": list(item.question.options),
                    "text": item.question.text,
                    "title": item.question.title,
                    "source": item.question.source,
                }
                for i, item in enumerate(self.items)
            },
            "sheets": [
                [[question_id(i) for i in group] for group in sheet] for sheet in self.sheets
            ],
        }

    @property
    def id(self) -> str:
        """Hash of what the page shows, which binds answers to their key and tells nothing of it."""
        text = json.dumps(self.shown, sort_keys=True, ensure_ascii=True)
        return sha256_of(text.encode())[:16]

    @property
    def questions(self) -> list[Question]:
        """All questions in the order of `items`, for `evaluation.topics.reading.ask`."""
        return [item.question for item in self.items]


def question_id(index: int) -> str:
    """Return the id of an item's question, from q1 on."""
    return f"q{index + 1}"


def write_key(path: Path, test: ReadingTest, about: dict[str, Any]) -> None:
    """Write the key, with `about`: seed, software, names of models."""
    items = [{"id": question_id(i), **asdict(item)} for i, item in enumerate(test.items)]
    content = {
        "format": KEY,
        "version": VERSION,
        "test": test.id,
        **about,
        "items": items,
        "sheets": test.sheets,
    }
    atomic_write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_key(path: Path) -> ReadingTest:
    """Read a key.

    Raises CorpusFormatError if the file is no key, is damaged, or was changed;
    UnsupportedVersionError if a newer version of this software wrote it; OSError if it is missing.
    """
    content = read_json(path, KEY)
    try:
        items = tuple(_item(each) for each in content["items"])
        sheets = tuple(tuple(tuple(map(int, g)) for g in sheet) for sheet in content["sheets"])
        test = ReadingTest(items, sheets)
        found = test.id
        for item in items:
            _check(item, len(items))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorpusFormatError(f"{path}: a damaged key of a reading test: {error}") from error
    if found != content.get("test"):
        raise CorpusFormatError(f"{path} was changed: its questions are not those of its test")
    return test


def read_json(path: Path, kind: str) -> dict[str, Any]:
    """Read a JSON file of ours, of this version.

    Raises CorpusFormatError or UnsupportedVersionError if it is not of this kind; OSError if it is
    missing.
    """
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CorpusFormatError(f"{path}: not JSON, or damaged: {error}") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != kind:
        what = f"a {found}" if isinstance(found, str) else "something else"
        raise CorpusFormatError(f"{path}: expected a {kind}, found {what}")
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise CorpusFormatError(f"{path}: a damaged {kind}: its version is {version!r}")
    if version > VERSION:
        raise UnsupportedVersionError(
            f"{path} was written by a newer wikitopics (version {version}, this one reads "
            f"{VERSION}): upgrade wikitopics to use it"
        )
    return dict(content)


def _item(entry: dict[str, Any]) -> Item:
    asked = entry["question"]
    question = Question(**(asked | {"options": tuple(asked["options"])}))
    return Item(
        question,
        str(entry["model"]),
        str(entry["unit"]),
        entry["intruder"],
        tuple(map(float, entry["log_odds"])),
        entry["repeats"],
    )


def _check(item: Item, n_items: int) -> None:
    n_options = len(item.question.options)
    for name, value, stop in (
        ("intruder", item.intruder, n_options),
        ("repeats", item.repeats, n_items),
    ):
        if value is not None and not (type(value) is int and 0 <= value < stop):
            raise ValueError(f"{name} is {value!r}")
    if item.question.task not in TASKS or len(item.log_odds) not in {0, n_options}:
        raise ValueError("a task or its log odds are not known")
