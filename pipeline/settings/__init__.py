"""Settings of each command, a module a command."""

from pipeline.settings.allocate import AllocateSettings as AllocateSettings
from pipeline.settings.download import DEFAULT_LANGUAGE as DEFAULT_LANGUAGE
from pipeline.settings.download import DownloadSettings as DownloadSettings
from pipeline.settings.evaluate import EvaluateSettings as EvaluateSettings
from pipeline.settings.field import AUTO as AUTO
from pipeline.settings.field import NoSettings as NoSettings
from pipeline.settings.field import choices_of as choices_of
from pipeline.settings.field import is_address as is_address
from pipeline.settings.field import setting as setting
from pipeline.settings.index import IndexSettings as IndexSettings
from pipeline.settings.infer import InferSettings as InferSettings
from pipeline.settings.reading_test import ReadingTestSettings as ReadingTestSettings
from pipeline.settings.report import ReportSettings as ReportSettings
from pipeline.settings.select import NOT_SHARED as NOT_SHARED
from pipeline.settings.select import SelectSettings as SelectSettings
from pipeline.settings.topics import TopicsSettings as TopicsSettings
from pipeline.settings.train import TrainSettings as TrainSettings
from pipeline.settings.warm import WarmSettings as WarmSettings
