"""`evaluate`: how probable unseen documents are under models, and which model is best."""

import logging
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import EvaluateSettings

logger = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "evaluate",
        "held-out likelihood of models, and which is best",
        EvaluateSettings,
        run,
        arguments="MODEL …",
    )
    parser.add_argument(
        "model_names",
        metavar="MODEL",
        nargs="+",
        help="name or path of a run; or a model.npz, or a file of gensim, scikit-learn (both are "
        "pickles, which run code: name none that you do not trust), tomotopy, topica (LDA), MALLET "
        "(a state; or topic-word weights and a file with alpha, WEIGHTS,FILE) or lda-c; with "
        "--measures also word lists, weights (MODEL,SHARES with the shares of documents), topica's "
        "other models and BERTopic's folder, and models of other seeds as one, MODEL+MODEL",
    )


def run(arguments: Arguments) -> Outcome:
    """Score the models."""
    settings = resolve(EvaluateSettings, "evaluate", vars(arguments))
    documents = settings.documents or settings.counts or settings.articles
    on = f" on {documents}" if documents else ""
    what = settings.measures or "held-out likelihood"
    what = "all measures" if what == "all" else what
    logger.info("%s of %s%s", what, ", ".join(arguments.model_names), on)
    if settings.measures:
        from pipeline.scoring.measures_result import evaluate_measures
        from pipeline.scoring.measures_table import print_measures

        return Outcome(evaluate_measures(settings, arguments.model_names), print_measures)
    if settings.method == "annealing-between":
        from pipeline.scoring.annealing_between import evaluate_differences, print_differences

        found = evaluate_differences(settings, arguments.model_names)
        return Outcome(found, print_differences)
    from pipeline.scoring.evaluate import evaluate
    from pipeline.scoring.table import print_evaluation

    return Outcome(evaluate(settings, arguments.model_names), print_evaluation)
