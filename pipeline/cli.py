"""The command line: `python -m pipeline download | train | select | evaluate | topics | …`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pipeline.errors import DONE, FAILED, Interrupted, UsageError, exit_code_of, message_of
from pipeline.interrupts import INTERRUPTED, raise_interrupted, signals_handled_by
from pipeline.progress import ProgressSafeHandler
from pipeline.reproduce_settings import ALL_TAKE, EXPERIMENTS, ReproduceSettings
from pipeline.setting_sources import ENVIRONMENT_PREFIX, asked_for, resolve
from pipeline.settings import (
    NOT_SHARED,
    AllocateSettings,
    DownloadSettings,
    EvaluateSettings,
    InferSettings,
    NoSettings,
    ReportSettings,
    SelectSettings,
    TopicsSettings,
    TrainSettings,
)
from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import Field

PACKAGES = ("corpora", "downloader", "evaluation", "models", "pipeline")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code.

    0 done, 1 failed, 2 usage, 3 bad data, 75 try again later (progress is kept), 130 or 143
    interrupted (progress is kept).
    """
    arguments = build_parser().parse_args(argv)
    _configure_logging(quiet=arguments.quiet, detached=getattr(arguments, "detached", False))
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
        _say(INTERRUPTED)
        return interrupt.exit_code
    except BrokenPipeError:
        # The reader, such as `head`, has gone; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if isinstance(error, SystemError) and isinstance(error.__cause__, Interrupted):
            # The signal came while a kernel handed its result over, which wraps what it raised.
            _say(INTERRUPTED)
            return error.__cause__.exit_code
        code = exit_code_of(error)
        if code is None:
            raise
        _say(message_of(error))
        return code
    return int(getattr(arguments, "exit_code", DONE))


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
    command.add_argument(
        "input_argument", metavar="INPUT", nargs="?", help="the same as --input INPUT"
    )
    _add_download_actions(command)
    command.set_defaults(runner=_run_download)
    command = _command(commands, "train", "learn topics from a store of articles", TrainSettings)
    command.set_defaults(runner=_run_train)
    of_runs = [each for each in fields(TrainSettings) if each.name not in NOT_SHARED]
    command = _command(
        commands, "select", "choose the number of topics", SelectSettings, also=of_runs
    )
    command.allow_abbrev = False  # --run, which `train` has, would be taken for --runs
    command.set_defaults(runner=_run_select)
    command = _command(
        commands, "evaluate", "held-out likelihood of models, and which is best", EvaluateSettings
    )
    command.add_argument(
        "model_names",
        metavar="MODEL",
        nargs="+",
        help="name or path of a run; or a model.npz, or a file of gensim, scikit-learn (both are "
        "pickles, which run code: name none that you do not trust), tomotopy, MALLET (a state; or "
        "topic-word weights and a file with alpha, WEIGHTS,FILE) or lda-c",
    )
    command.set_defaults(runner=_run_evaluate)
    command = _command(
        commands,
        "topics",
        "top words, shares and dependencies of words of a run's topics",
        TopicsSettings,
    )
    command.add_argument("run_name", metavar="RUN", help="name or path of a run")
    command.set_defaults(runner=_run_topics)
    command = _command(
        commands,
        "report",
        "runs as one page to look at and to send, and as figures",
        ReportSettings,
    )
    command.add_argument(
        "run_names",
        metavar="RUN",
        nargs="+",
        help="name or path of a run; or the directory of one `allocate`",
    )
    command.set_defaults(runner=_run_report)
    command = _command(commands, "infer", "the topics of new texts", InferSettings)
    command.add_argument("run_name", metavar="RUN", help="name or path of a run")
    command.add_argument("files", metavar="FILE", nargs="+", help="text file; - is stdin")
    command.set_defaults(runner=_run_infer)
    command = _command(commands, "reproduce", "published experiments again", ReproduceSettings)
    command.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        choices=EXPERIMENTS,
        help=", ".join(EXPERIMENTS),
    )
    _add_all_experiments(command)
    command.set_defaults(runner=_run_reproduce)
    command = _command(
        commands,
        "allocate",
        "how probable a table of counts is under allocation models, and its factors",
        AllocateSettings,
    )
    command.add_argument(
        "table_file",
        metavar="FILE",
        help="counts: CSV (records or a matrix), .npy, .npz of NumPy or SciPy, Matrix Market, or "
        "bags of words in any format that convert reads",
    )
    command.set_defaults(runner=_run_allocate)
    command = _command(commands, "convert", "bags of words into another format", NoSettings)
    _add_conversion(command)
    command.set_defaults(runner=_run_convert)
    command = _command(
        commands, "cache", "what is cached of results, and how much space it takes", NoSettings
    )
    command.add_argument("--clear", action="store_true", help="delete all cached results")
    command.set_defaults(runner=_run_cache)
    return parser


_NOT_SETTINGS = {"runner", "printer", "json", "quiet", "run_name", "run_names", "files"} | {
    "model_names",
    *("experiment", "all", "gather", "exit_code"),
    "table_file",
    "input_argument",
    "action",
    "export",
    "detached",
    "clear",
}


def _add_download_actions(parser: argparse.ArgumentParser) -> None:
    """What `download` can do besides downloading."""
    parser.set_defaults(action="download", export=None)
    # What --background starts: it has no terminal, and logs to its own file alone.
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    group = parser.add_argument_group("instead").add_mutually_exclusive_group()
    for action, help_text in (
        ("background", "download in a process of its own and return at once"),
        ("status", "how far the download into --output is"),
        ("stop", "end it; what it has is kept, and the same command goes on"),
        ("follow", "show its log until it ends"),
        ("verify", "check every shard of --output"),
    ):
        group.add_argument(
            f"--{action}", dest="action", action="store_const", const=action, help=help_text
        )
    group.add_argument(
        "--export",
        metavar="FILE",
        help="write --output as .jsonl, .jsonl.gz, .bz2, .xz or .parquet",
    )


def _add_all_experiments(parser: argparse.ArgumentParser) -> None:
    """What `reproduce` can do with all experiments at once."""
    group = parser.add_argument_group("instead of EXPERIMENT")
    group.add_argument(
        "--all",
        action="store_true",
        help="run those that have no result of --scale and --seed yet, and gather all results on "
        f"one page, report.html; {ALL_TAKE}",
    )
    group.add_argument(
        "--gather", action="store_true", help="gather the results that are there, and run nothing"
    )


def _add_conversion(parser: argparse.ArgumentParser) -> None:
    """What to convert: no settings, as neither environment nor file should decide on it."""
    names = "uci, mtx, ldac, jsonl, text, corpus"
    parser.add_argument("source", metavar="A", help="file or directory to read; a run, too")
    parser.add_argument("target", metavar="B", help="file or directory to write")
    parser.add_argument(
        "--from",
        dest="source_format",
        default="",
        metavar="FORMAT",
        help=f"format of A, if its name does not tell: {names}, mallet-state",
    )
    parser.add_argument(
        "--to",
        dest="target_format",
        default="",
        metavar="FORMAT",
        help=f"format of B: {names}; of a run also mallet-topic-keys, mallet-doc-topics",
    )
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="words of A, a line each; by default the file beside A; numbers: numbers as words",
    )
    parser.add_argument("--force", action="store_true", help="replace B if it is there already")


def _command(
    commands: Any,
    name: str,
    help_text: str,
    settings: type[Any],
    *,
    also: Sequence[Field[Any]] = (),
) -> argparse.ArgumentParser:
    """A subparser whose options are the fields of a settings class, and those in `also`.

    Options that are not given are absent from the parsed arguments, so that environment and file
    can speak for them.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=help_text[0].upper() + help_text[1:] + "."
    )
    for each in (*fields(settings), *also):
        default = each.default
        shown = "" if default is None or default == "" else f" (default: {default})"
        if default is False:
            parser.add_argument(
                "--" + each.name.replace("_", "-"),
                action="store_true",
                default=argparse.SUPPRESS,
                help=each.metadata["help"].replace("%", "%%"),
            )
            continue
        short = (each.metadata["short"],) if each.metadata["short"] else ()
        parser.add_argument(
            *short,
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
    if arguments.input_argument is not None:
        if "input" in given:
            raise UsageError("INPUT is given twice: leave --input out")
        given = given | {"input": arguments.input_argument}
    settings = resolve(DownloadSettings, "download", given)
    from pipeline.commands import download as command  # noqa: PLC0415

    if arguments.export is not None:
        arguments.printer = command.print_export
        return command.export(settings, arguments.export)
    run, arguments.printer = command.ACTIONS[arguments.action]
    return run(settings)


def _run_train(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    asked = asked_for(TrainSettings, "train", given)
    from pipeline.commands.train import print_training, train  # noqa: PLC0415

    arguments.printer = print_training
    return train(TrainSettings(**asked), asked)


def _run_select(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(SelectSettings, "select", given)
    # Numbers of topics are a list here: what they are for `train` is not asked.
    environment = {
        name: text for name, text in os.environ.items() if name not in _NOT_OF_SELECTED_RUNS
    }
    asked = asked_for(
        TrainSettings, "train", {n: v for n, v in given.items() if n != "topics"}, environment
    )
    training = TrainSettings(**{n: v for n, v in asked.items() if n not in NOT_SHARED})
    from pipeline.commands.select import print_selection, select  # noqa: PLC0415

    arguments.printer = print_selection
    return select(settings, training)


_NOT_OF_SELECTED_RUNS = {ENVIRONMENT_PREFIX + name.upper() for name in NOT_SHARED}


def _run_evaluate(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(EvaluateSettings, "evaluate", given)
    from pipeline.commands.evaluate import evaluate  # noqa: PLC0415
    from pipeline.scoring.table import print_evaluation  # noqa: PLC0415

    arguments.printer = print_evaluation
    return evaluate(settings, arguments.model_names)


def _run_topics(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(TopicsSettings, "topics", given)
    from pipeline.commands.topics import print_topics, topics  # noqa: PLC0415

    arguments.printer = print_topics
    return topics(settings, arguments.run_name)


def _run_report(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(ReportSettings, "report", given)
    from pipeline.commands.report import print_report, report  # noqa: PLC0415

    arguments.printer = print_report
    return report(settings, arguments.run_names)


def _run_infer(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(InferSettings, "infer", given)
    from pipeline.commands.infer import infer, print_inference  # noqa: PLC0415

    arguments.printer = print_inference
    return infer(settings, arguments.run_name, arguments.files)


def _run_reproduce(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    is_of_all = arguments.all or arguments.gather
    if (arguments.experiment is None) != is_of_all:
        raise UsageError(
            "reproduce takes an EXPERIMENT, one of " + ", ".join(EXPERIMENTS) + "; or --all or "
            "--gather without one"
        )
    settings = resolve(ReproduceSettings, "reproduce", given)
    if is_of_all:
        from pipeline.commands import reproduce_all as command  # noqa: PLC0415

        arguments.printer = command.print_reproductions
        result = command.reproduce_all(settings, gather_only=arguments.gather)
        arguments.exit_code = FAILED if result["failed"] else DONE
        return result
    from pipeline.commands.reproduce import print_reproduction, reproduce  # noqa: PLC0415

    arguments.printer = print_reproduction
    return reproduce(settings, arguments.experiment)


def _run_allocate(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    settings = resolve(AllocateSettings, "allocate", given)
    from pipeline.commands.allocate import allocate, print_allocation  # noqa: PLC0415

    arguments.printer = print_allocation
    return allocate(settings, arguments.table_file)


def _run_convert(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    del given
    from pipeline.commands.convert import Conversion, convert, print_conversion  # noqa: PLC0415

    arguments.printer = print_conversion
    return convert(Conversion(**{f.name: getattr(arguments, f.name) for f in fields(Conversion)}))


def _run_cache(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    del given
    from pipeline.commands.cache import cache, print_cache  # noqa: PLC0415

    arguments.printer = print_cache
    return cache(clear=arguments.clear)


def _configure_logging(*, quiet: bool, detached: bool) -> None:
    handler = logging.NullHandler() if detached else ProgressSafeHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    for package in PACKAGES:
        logger = logging.getLogger(package)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING if quiet else logging.INFO)


def _say(message: str) -> None:
    print(f"wikitopics: {message}", file=sys.stderr)
