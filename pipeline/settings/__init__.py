"""Settings of each command, a module a command."""

from pipeline.settings.allocate import AllocateSettings
from pipeline.settings.download import DEFAULT_LANGUAGE, DownloadSettings
from pipeline.settings.evaluate import EvaluateSettings
from pipeline.settings.field import AUTO, NoSettings, choices_of, is_address, setting
from pipeline.settings.index import IndexSettings
from pipeline.settings.infer import InferSettings
from pipeline.settings.reading_test import ReadingTestSettings
from pipeline.settings.report import ReportSettings
from pipeline.settings.select import NOT_SHARED, SelectSettings
from pipeline.settings.topics import TopicsSettings
from pipeline.settings.train import TrainSettings
from pipeline.settings.warm import WarmSettings

__all__ = [
    "AUTO",
    "DEFAULT_LANGUAGE",
    "NOT_SHARED",
    "AllocateSettings",
    "DownloadSettings",
    "EvaluateSettings",
    "IndexSettings",
    "InferSettings",
    "NoSettings",
    "ReadingTestSettings",
    "ReportSettings",
    "SelectSettings",
    "TopicsSettings",
    "TrainSettings",
    "WarmSettings",
    "choices_of",
    "is_address",
    "setting",
]
