"""Reading tests: questions on topics for people or for any function, and scores of answers."""

from typing import TYPE_CHECKING

from corpora.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evaluation.topics.reading.agreement import krippendorff_alpha as krippendorff_alpha
    from evaluation.topics.reading.asking import ask as ask
    from evaluation.topics.reading.question import Item as Item
    from evaluation.topics.reading.question import Question as Question
    from evaluation.topics.reading.reading_scores import ReadingScores as ReadingScores
    from evaluation.topics.reading.reading_scores import score as score
    from evaluation.topics.reading.reading_sheets import Sheets as Sheets
    from evaluation.topics.reading.reading_sheets import sheets as sheets
    from evaluation.topics.reading.topic_intruders import topic_intrusion as topic_intrusion
    from evaluation.topics.reading.topic_ratings import ratings as ratings
    from evaluation.topics.reading.word_intruders import weights_of_lists as weights_of_lists
    from evaluation.topics.reading.word_intruders import word_intrusion as word_intrusion
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
