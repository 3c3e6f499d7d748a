import re
from dataclasses import asdict

import pytest

from evaluation import certify
from models import load_model
from tests.pipeline.scoring.support import N_DOCUMENTS, N_TOKENS, failed
from tests.pipeline.support import call

METHOD = "left-to-right-sequential"
TEMPERATURES = 100
MODELS = ("model.npz", "truth.npz")


def certified(*argv, cwd, method=METHOD):
    options = ("--counts", "docs.jsonl", "--threads", 1, "--temperatures", TEMPERATURES)
    return call("evaluate", *argv, *options, "--method", method, "--certify", cwd=cwd).succeeded()


def by_the_library(zoo):
    topics, lengths = load_model(zoo / "truth.npz").topics, [N_TOKENS] * N_DOCUMENTS
    return certify(topics, lengths, METHOD, n_temperatures=TEMPERATURES, random_state=0)


def test_of_one_model_in_words(zoo):
    found, lines = by_the_library(zoo), certified("truth.npz", cwd=zoo).out.splitlines()
    place = lines.index(
        f"certificate: of {N_DOCUMENTS} documents simulated from the model, the mean log p is "
        "between"
    )
    bracket, verdict = lines[place + 1 :]
    number = r"([+-]?\d+\.\d+)"
    match = re.fullmatch(
        rf"  {number} and {number} nats, a gap of {number} ± {number} \(.*", bracket
    )
    assert match is not None
    expected = (found.lower, found.upper, found.gap, found.gap_standard_error)
    assert [float(each) for each in match.groups()] == pytest.approx(expected, abs=6e-4)
    match = re.match(rf"  {METHOD} says {number}: {number} ± {number} from the lower", verdict)
    assert match is not None
    expected = (found.log_likelihood, found.above_lower, found.above_lower_standard_error)
    assert [float(each) for each in match.groups()] == pytest.approx(expected, abs=6e-4)
    assert verdict.endswith("; consistent")


def test_of_two_models_as_json(zoo):
    result = certified(*MODELS, "--json", cwd=zoo).result
    assert [row["model"] for row in result["models"]] == list(MODELS)
    for row in result["models"]:
        found = row["certificate"]
        assert (found["method"], found["direction"]) == (METHOD, "unbiased")
        assert (found["n_documents"], found["n_temperatures"]) == (N_DOCUMENTS, TEMPERATURES)
        assert found["n_tokens"] == N_DOCUMENTS * N_TOKENS
        # A bracket that says something: narrower than half a nat of documents of about 119 nats.
        assert abs(found["gap"]) + 4 * found["gap_standard_error"] < 0.5
        # An estimator that is right is 4 standard errors outside of it in one of 10,000 runs.
        assert found["above_lower"] > -4 * found["above_lower_standard_error"]
        assert found["below_upper"] > -4 * found["below_upper_standard_error"]
        assert found["consistent"]
    assert result["models"][1]["certificate"] == asdict(by_the_library(zoo))
    text = certified(*MODELS, cwd=zoo).out
    for name in MODELS:
        assert f"\n{name}:\ncertificate: of {N_DOCUMENTS} documents" in text
    assert text.count("; consistent\n") == 2
    assert "\nbest: truth.npz; against it\n" in text


@pytest.mark.parametrize(
    ("method", "verdict", "side"),
    [
        ("variational-bound", "below, as a lower bound is", "above_lower"),
        pytest.param(
            "harmonic-mean", "OUTSIDE what chance explains", "below_upper", marks=pytest.mark.slow
        ),
    ],
)
def test_a_method_that_is_wrong(zoo, method, verdict, side):
    found = certified("truth.npz", "--json", cwd=zoo, method=method).result["certificate"]
    assert not found["consistent"]
    assert found[side] < -4 * found[f"{side}_standard_error"]
    assert certified("truth.npz", cwd=zoo, method=method).out.endswith(f"; {verdict}\n")


def test_one_document_gets_no_certificate(zoo):
    (zoo / "one.jsonl").write_text((zoo / "docs.jsonl").read_text().splitlines()[0])
    argv = ("truth.npz", "--counts", "one.jsonl", "--method", METHOD, "--certify")
    assert "--certify needs two documents" in failed(2, *argv, cwd=zoo)
