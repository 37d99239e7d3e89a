"""What certificates and warnings say, for every status and every kind of certificate."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from maxmargin import SVC, PegasosClassifier, Status
from maxmargin.certificate import Certificate, total
from synthetic import free_svc


def certificate(primal, dual, gap, relative_gap, **more):
    return Certificate(primal, dual, gap, relative_gap, 0.1, 3, 4, 0.5, 2.0, **more)


INF = math.inf
HARD = certificate(INF, 3.0, INF, INF)
KINDS = {
    "binary": certificate(2.0, 1.9, 0.1, 0.1 / 1.9),
    "exact": certificate(2.0, 2.0, 0.0, 0.0),
    "weak": certificate(2.0, -1.0, 3.0, INF),
    "several": total([certificate(2.0, 1.9, 0.1, 0.1 / 1.9)] * 3),
    "hard": HARD,
    "hard, nothing known": certificate(INF, 0.0, INF, INF),
    "hard, several": total([HARD, certificate(2.0, 1.9, 0.1, 0.1 / 1.9)]),
    "nu": certificate(-1.0, -1.1, 0.1, 0.1),
    "regression": certificate(20.0, 0.0, 20.0, INF),
    "perceptron": certificate(0.0, 0.0, 0.0, INF),
    "perceptron, mistakes": certificate(1.0, 0.0, 1.0, INF),
    "nearly 0": certificate(1e-13, 0.0, 1e-13, 1e-3),
    "the least number": certificate(2.0, 2.0, 5e-324, 5e-324),
    "no bound": certificate(2.0, -INF, INF, INF),
    "overflow": certificate(math.nan, math.nan, math.nan, math.nan),
    "indefinite": certificate(1.0, 0.9, 0.1, 0.1, convex=False),
}
all_kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
all_statuses = pytest.mark.parametrize("status", Status, ids=lambda status: status.name)


@all_kinds
@all_statuses
def test_a_certificate_is_a_sentence(kind, status):
    text = kind.with_status(status).sentence()
    assert not re.search(r"\b(inf|nan)\b", text)
    assert text == text.strip()
    assert str(kind.with_status(status)).endswith(text)
    if status is Status.INFEASIBLE:
        assert "separator found yet;" not in text
    if not kind.convex:
        stationary = status in (Status.STATIONARY, Status.OPTIMAL)
        assert text.startswith("a stationary point" if stationary else "a point")


def test_the_distance_is_that_of_one_problem():
    assert "come within 0.82" in HARD.sentence()
    assert KINDS["hard, several"].sentence().endswith("in at least one of 2 problems")
    assert HARD.with_status(Status.INFEASIBLE).sentence().startswith("no separator; ")


@all_kinds
@all_statuses
@pytest.mark.parametrize("model", [free_svc(), SVC(), PegasosClassifier(averaging="uniform")])
@pytest.mark.parametrize("n_iter", [0, 1, 7])
def test_a_warning_is_a_sentence(model, kind, status, n_iter):
    solved = SimpleNamespace(certificate=kind.with_status(status), status=status)
    model.solutions_, model.n_iter_ = (solved, solved), np.array([n_iter, 0])
    text = model._unproven()
    if status is Status.OPTIMAL:
        assert text == ""
        return
    name = type(model).__name__
    verb = "(was|stalled|found|ended|diverged)"
    unit = "iteration" if n_iter == 1 else "iterations"
    assert re.match(rf"{name} {verb}\b.* after {n_iter} {unit} in problem 1 of 2(:|;)", text)
    assert text.endswith(", or accept the model as it is.")
    assert not re.search(r"\b(inf|nan)\b|  |\{", text)
