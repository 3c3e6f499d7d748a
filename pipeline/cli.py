"""The command line: `python -m pipeline download | train | evaluate | topics | infer`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pipeline.errors import DONE, Interrupted, exit_code_of, message_of
from pipeline.interrupts import raise_interrupted, signals_handled_by
from pipeline.progress import ProgressSafeHandler
from pipeline.settings import (
    DownloadSettings,
    EvaluateSettings,
    InferSettings,
    TopicsSettings,
    TrainSettings,
    asked_for,
    resolve,
)
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = ("corpora", "downloader", "evaluation", "models", "pipeline")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code.

    0 done, 1 failed, 2 usage, 3 bad data, 75 try again later (progress is kept), 130 or 143
    interrupted (progress is kept).
    """
    arguments = build_parser().parse_args(argv)
    _configure_logging(quiet=arguments.quiet)
    given = {name: value for name, value in vars(arguments).items() if name not in _NOT_SETTINGS}
    try:
        with signals_handled_by(raise_interrupted):
            result = arguments.runner(arguments, given)
            if arguments.json:
                print(json.dumps(result, ensure_ascii=False))
            else:
                arguments.printer(result)
            sys.stdout.flush()
    except Interrupted as interrupt:
        _say("interrupted; what was done is kept: give the same command again to go on")
        return interrupt.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has gone; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        _say(message_of(error))
        return code
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="Topic models of Wikipedia, with held-out likelihoods that can be trusted.",
        epilog="Settings come from the command line, then WIKITOPICS_NAME in the environment, "
        "then [command] in pipeline.toml.",
    )
    parser.add_argument("--version", action="version", version=f"wikitopics {software_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = _command(commands, "download", "articles into a store", DownloadSettings)
    command.set_defaults(runner=_run_download)
    command = _command(commands, "train", "learn topics from a store of articles", TrainSettings)
    command.set_defaults(runner=_run_train)
    command = _command(
        commands, "evaluate", "held-out likelihood of a run's model", EvaluateSettings
    )
    command.add_argument("run_name", metavar="RUN", help="name or path of a run")
    command.set_defaults(runner=_run_evaluate)
    command = _command(commands, "topics", "top words and shares of a run's topics", TopicsSettings)
    command.add_argument("run_name", metavar="RUN", help="name or path of a run")
    command.set_defaults(runner=_run_topics)
    command = _command(commands, "infer", "the topics of new texts", InferSettings)
    command.add_argument("run_name", metavar="RUN", help="name or path of a run")
    command.add_argument("files", metavar="FILE", nargs="+", help="text file; - is stdin")
    command.set_defaults(runner=_run_infer)
    return parser


_NOT_SETTINGS = {"runner", "printer", "json", "quiet", "run_name", "files"}


def _command(
    commands: Any, name: str, help_text: str, settings: type[Any]
) -> argparse.ArgumentParser:
    """A subparser whose options are the fields of a settings class.

    Options that are not given are absent from the parsed arguments, so that environment and file
    can speak for them.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=help_text[0].upper() + help_text[1:] + "."
    )
    for each in fields(settings):
        default = each.default
        shown = "" if default is None or default == "" else f" (default: {default})"
        parser.add_argument(
            "--" + each.name.replace("_", "-"),
            default=argparse.SUPPRESS,
            metavar=each.metadata["metavar"] or _either(each.metadata["choices"]),
            help=each.metadata["help"].replace("%", "%%") + shown,
        )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress, only errors on stderr")
    return parser


def _either(choices: tuple[str, ...] | None) -> str | None:
    """How --help shows choices. `resolve` checks them, as it does those of the other sources."""
    return "{" + ",".join(choices) + "}" if choices else None


# The commands import numba, spaCy and scikit-learn: each only when it runs, so that --help and a
# mistyped option answer at once.


def _run_download(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(DownloadSettings, "download", given)
    from pipeline.commands.download import download, print_download  # noqa: PLC0415

    arguments.printer = print_download
    return download(settings)


def _run_train(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    asked = asked_for(TrainSettings, "train", given)
    from pipeline.commands.train import print_training, train  # noqa: PLC0415

    arguments.printer = print_training
    return train(TrainSettings(**asked), asked)


def _run_evaluate(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(EvaluateSettings, "evaluate", given)
    from pipeline.commands.evaluate import evaluate, print_evaluation  # noqa: PLC0415

    arguments.printer = print_evaluation
    return evaluate(settings, arguments.run_name)


def _run_topics(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(TopicsSettings, "topics", given)
    from pipeline.commands.topics import print_topics, topics  # noqa: PLC0415

    arguments.printer = print_topics
    return topics(settings, arguments.run_name)


def _run_infer(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(InferSettings, "infer", given)
    from pipeline.commands.infer import infer, print_inference  # noqa: PLC0415

    arguments.printer = print_inference
    return infer(settings, arguments.run_name, arguments.files)


def _configure_logging(*, quiet: bool) -> None:
    handler = ProgressSafeHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    for package in PACKAGES:
        logger = logging.getLogger(package)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING if quiet else logging.INFO)


def _say(message: str) -> None:
    print(f"wikitopics: {message}", file=sys.stderr)
