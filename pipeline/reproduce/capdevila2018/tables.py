"""Tables and headlines of the experiments of Capdevila et al. 2018, from results in JSON."""

from __future__ import annotations

from typing import Any

from pipeline.reproduce.old_tables import Headline, Table, grouped, plus_minus, table, text


def kl(result: dict[str, Any]) -> list[Table]:
    """What Figures 1 and 2 are drawn from: a table for each corpus."""
    about = {each["corpus"]: each for each in result["corpora"]}
    return [
        table(
            f"{name}: {about[name]['scored']:,} documents, {about[name]['mean_tokens']:.1f} tokens "
            "on average",
            (
                *("estimator", "samples", "KL, bits", "p / exact − 1", "t"),
                *("log error, nats", "rms", "seconds"),
            ),
            [
                (
                    row["estimator"],
                    f"{row['samples']:,}",
                    plus_minus(row["kl"], row["kl_standard_error"], ".1e"),
                    plus_minus(row["ratio_error"], row["ratio_standard_error"], ".1e"),
                    text(row["t"], ".2f"),
                    plus_minus(row["log_error"], row["log_standard_error"], ".1e"),
                    text(row["root_mean_square_log_error"], ".1e"),
                    text(row["seconds"], ".2f"),
                )
                for row in rows
            ],
            headings=2,
            note=f"{result['topics']} topics over the {result['words']} most frequent words; means "
            f"± standard errors of {result['repeats']} repeats. KL: between exact and estimated "
            "probabilities of documents, normalised. Seconds: of one run over all documents.",
        )
        for name, rows in grouped(result["rows"], "corpus").items()
    ]


def kl_headline(result: dict[str, Any]) -> Headline:
    """KL with most samples, of the first corpus."""
    corpus = result["corpora"][0]["corpus"]
    rows = [row for row in result["rows"] if row["corpus"] == corpus]
    most = max(row["samples"] for row in rows)
    found = {row["estimator"]: row["kl"] for row in rows if row["samples"] == most}
    return Headline(
        f"KL in bits with {most:,} samples, {corpus}",
        ", ".join(f"{name} {text(found[name], '.1e')}" for name in ("L2R exact", "L2R", "DS")),
        "L2R exact lowest on 6 of 6 corpora, L2R next on 4",
    )


def convergence(result: dict[str, Any]) -> list[Table]:
    """What Figure 3 is drawn from: a table for each corpus."""
    about = {each["corpus"]: each for each in result["corpora"]}
    return [
        table(
            f"{name}: {about[name]['scored']:,} held-out documents, "
            f"{about[name]['tokens']:,} tokens",
            ("estimator", "samples", "log-likelihood, nats", "above, nats a word", "seconds"),
            [
                (
                    row["estimator"],
                    f"{row['samples']:,}",
                    plus_minus(row["log_likelihood"], row["standard_error"], ".2f"),
                    text(row["above_reference"], "+.4f"),
                    text(row["seconds"], ".2f"),
                )
                for row in rows
            ],
            headings=2,
            note=f"{result['topics']} topics. ±: of sampling, as the estimator says itself. Above: "
            "more than LRS refined with most samples.",
        )
        for name, rows in grouped(result["rows"], "corpus").items()
    ]


def convergence_headline(result: dict[str, Any]) -> Headline:
    """Where each estimator is with most samples, of the first corpus."""
    corpus = result["corpora"][0]["corpus"]
    last = {
        row["estimator"]: row["above_reference"]
        for row in sorted(result["rows"], key=lambda row: int(row["samples"]))
        if row["corpus"] == corpus
    }
    return Headline(
        f"nats a word above LRS refined, with most samples, {corpus}",
        ", ".join(f"{name} {text(last[name], '+.3f')}" for name in ("DS", "L2R", "HM")),
        "only drawn: DS from below, HM above, L2R between",
    )
