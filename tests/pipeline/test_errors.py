import errno
import importlib
import os

from corpora import CorpusFormatError
from downloader.errors import ChangingDumpError, RefusedError, TryLaterError
from pipeline import errors
from pipeline.errors import BAD_DATA, FAILED, TRY_AGAIN, BackgroundError, exit_code_of, message_of


def test_each_name_is_that_of_an_error():
    for name in errors._CODES:
        module, _, kind = name.rpartition(".")
        found = getattr(importlib.import_module(module), kind)
        assert issubclass(found, Exception)
        assert (found.__module__, found.__qualname__) == (module, kind)


def test_the_nearest_class_decides():
    class OfOursError(CorpusFormatError):
        pass

    assert exit_code_of(OfOursError()) == BAD_DATA
    assert exit_code_of(RefusedError("no")) == FAILED
    assert exit_code_of(TryLaterError("later")) == TRY_AGAIN
    assert exit_code_of(ChangingDumpError("later")) == TRY_AGAIN
    assert exit_code_of(FileNotFoundError(errno.ENOENT, "x")) == BAD_DATA
    assert exit_code_of(PermissionError(errno.EACCES, "x")) == FAILED
    assert exit_code_of(OSError(errno.ENOSPC, "full")) == TRY_AGAIN
    assert exit_code_of(BackgroundError("x", 3)) == 3
    assert exit_code_of(ValueError("our mistake")) is None


def test_a_reserve_of_the_disk_is_told():
    usual = message_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x"))
    assert usual.startswith("the disk is full (x): nothing stored is lost; free some space")
    told = message_of(OSError(errno.ENOSPC, "2 more bytes would leave fewer than 9", "x"))
    assert "(x): 2 more bytes would leave fewer than 9; nothing stored is lost" in told


def test_a_missing_file_is_named_without_its_error_number():
    error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "none.csv")
    assert message_of(error) == f"{os.strerror(errno.ENOENT)}: 'none.csv'"
