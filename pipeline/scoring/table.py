"""Result of `evaluate` as text."""

from typing import Any

from pipeline.scoring.score import vocabulary_cost

CONVENTIONS = {
    "sequence": "",
    "bag": " of counts, given how many tokens,",
    "bag-and-length": " of counts and lengths",
}
"""Meaning of a probability by convention; nothing for tokens in order."""
COSTLY = 0.01  # Difference of the probabilities of scored words from which a warning is printed
MUCH = 0.5  # Share of a difference from which it is due to vocabularies more than to models


def print_evaluation(result: dict[str, Any]) -> None:
    """Print some lines for one model, a table for several."""
    documents = (
        counted(result["articles"], result["unit"])
        if result["articles"] == result["documents"]
        else f"{counted(result['documents'], 'section')} of "
        + counted(result["articles"], "article")
    )
    if result["left_out"]:
        print(f"left out: {counted(result['left_out'])} that a run was trained with")
    if result["empty_documents"]:
        print(f"left out: {counted(result['empty_documents'])} without a token to score")
    what = CONVENTIONS[result["convention"]]
    print(f"{result['method']} ({result['direction']}){what} on {documents}, {result['scored']}")
    for caveat in result["caveats"]:
        print(caveat)
    if "models" in result:
        _print_comparison(result)
        return
    error = result["perplexity_standard_error"]
    spread = "" if error is None else f" ± {error:.1f} (standard error over {result['unit']}s)"
    print(
        f"held-out perplexity {result['perplexity']:.1f}{spread}\n"
        f"{result['nats_per_word']:.4f} nats a word, {result['bits_per_word']:.4f} bits a word"
    )
    sampling = result["nats_per_word_monte_carlo_standard_error"]
    if sampling:
        size = result["mean_effective_sample_size"]
        sizes = "" if size is None else f"; mean effective sample size {size:.1f}"
        unsure = result["unsure_documents"]
        doubt = f"; {counted(unsure)} hardly sampled" if unsure else ""
        print(f"Monte Carlo standard error {sampling:.2g} nats a word{sizes}{doubt}")
    print(
        f"{result['tokens_scored']:,} of {result['tokens']:,} tokens scored; besides these, "
        f"{result['unknown_share']:.1%} of all tokens are words unknown to the model"
    )
    if "certificate" in result:
        _print_certificate(result["certificate"])


def _print_comparison(result: dict[str, Any]) -> None:
    rows = result["models"]
    print(
        f"{result['tokens_scored']:,} of {result['tokens']:,} tokens scored, of words that every "
        "model knows\n"
    )
    width = max(5, *(len(row["model"]) for row in rows))
    heads = "perplexity       ±  nats a word  Monte Carlo ±  unknown  not scored  worth"
    print(f"{'model':{width}s}  {heads}")
    for row in rows:
        scored = row["probability_of_scored_words"]
        print(
            f"{row['model']:{width}s}  {row['perplexity']:10.1f}"
            f"  {_figure(row['perplexity_standard_error'], 6, '.1f')}  {row['nats_per_word']:11.4f}"
            f"  {_figure(row['nats_per_word_monte_carlo_standard_error'], 13, '.2g')}"
            f"  {row['unknown_share']:7.1%}  {1 - scored:10.1%}  {vocabulary_cost(scored):5.2f}"
        )
    if any(row["probability_of_scored_words"] < 1 - 1e-9 for row in rows):
        print(
            "not scored: the share of its probability that a model gives to words that another "
            "does not know, at its cost; worth: that cost in nats a word"
        )
    for row in rows:
        if "certificate" in row:
            print(f"\n{row['model']}:")
            _print_certificate(row["certificate"])
    warning = _ranked_by_words(result)
    if warning:
        print(f"\n{warning}")
    print(f"\n{'most probable' if warning else 'best'}: {result['best']}; against it")
    for row in result["differences"]:
        error, chance = row["standard_error"], row["probability"]
        certainty = (
            f"no standard error from one {result['unit']}"
            if error is None or chance is None
            else f"{result['best']} is {'ahead' if warning else 'better'} with probability "
            f"{chance:.4f}, p = {row['p_value']:.2g}"
        )
        difference = f"{row['nats_per_word']:+.4f} ± {_figure(error, 1, '.4f')} nats a word"
        ratio = _figure(row["perplexity_ratio"], 1, ".4f")
        print(f"{row['model']:{width}s}  {difference}, perplexity × {ratio}; {certainty}")


def _ranked_by_words(result: dict[str, Any]) -> str:
    """Return a warning if words that are not scored change the comparison much, else nothing."""
    scored = {row["model"]: row["probability_of_scored_words"] for row in result["models"]}
    best = result["best"]
    costly = []
    for row in result["differences"]:
        name, difference = row["model"], row["nats_per_word"]
        if scored[best] - scored[name] <= COSTLY or difference is None:
            continue
        worth = vocabulary_cost(scored[name]) - vocabulary_cost(scored[best])
        if worth >= MUCH * difference:
            costly.append(f"{name} {worth:.2f} of the {difference:.2f}")
    if not costly:
        return ""
    return (
        "not comparable as they are: words that are not scored cost "
        f"{', '.join(costly)} nats a word\nby which {best} is ahead: this ranks vocabularies more "
        "than models; train them with the same vocabulary"
    )


def counted(number: int, what: str = "document") -> str:
    """Return a number with what is counted, in the plural if need be."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _print_certificate(certificate: dict[str, Any]) -> None:
    print(
        f"certificate: of {certificate['n_documents']:,} documents simulated from the model, the "
        "mean log p is between\n"
        f"  {certificate['lower']:.3f} and {certificate['upper']:.3f} nats, "
        f"a gap of {certificate['gap']:.3f} ± {certificate['gap_standard_error']:.3f} "
        f"({certificate['gap_per_word']:.2g} nats a word)\n"
        f"  {certificate['method']} says {certificate['log_likelihood']:.3f}: "
        f"{certificate['above_lower']:+.3f} ± {certificate['above_lower_standard_error']:.3f} from "
        f"the lower, {-certificate['below_upper']:+.3f} ± "
        f"{certificate['below_upper_standard_error']:.3f} from the upper end; "
        + _verdict(certificate)
    )


def _verdict(certificate: dict[str, Any]) -> str:
    if certificate["consistent"]:
        return "consistent"
    if certificate["direction"] == "lower bound" and certificate["below_upper"] > 0:
        return "below, as a lower bound is"
    return "OUTSIDE what chance explains"


def _figure(value: float | None, width: int, form: str) -> str:
    return f"{'–':>{width}s}" if value is None else f"{value:{width}{form}}"
