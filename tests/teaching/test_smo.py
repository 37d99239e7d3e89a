"""The lecture's SMO: L, H, the clip, the threshold by three cases, and the optimum."""

import numpy as np
import pytest

from maxmargin import SVC
from maxmargin.kernels import Gaussian
from maxmargin.teaching import smo
from synthetic import overlapping, separable


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kernel", [None, Gaussian(0.5)], ids=["linear", "rbf"])
def test_it_reaches_the_optimum_of_svc(C, kernel):
    X, y = overlapping()
    *_, last = smo(X, y, C, kernel=kernel, tol=1e-4, random_state=0)
    model = SVC(C=C, kernel=kernel or "linear", tol=1e-9).fit(X, y)
    assert last.dual == pytest.approx(model.certificate_.dual, rel=1e-4)
    assert last.b == pytest.approx(model.intercept_[0], abs=0.02)


def test_every_step_raises_the_dual_and_stays_feasible():
    X, y = overlapping()
    dual = 0.0
    for step in smo(X, y, 1.0, random_state=0):
        assert step.dual >= dual - 1e-12
        dual = step.dual
        assert abs(step.alpha @ y) < 1e-9
        assert step.alpha.min() >= 0.0
        assert step.alpha.max() <= 1.0


def test_the_new_alpha_is_the_best_one_clipped_to_low_and_high():
    X, y = overlapping()
    before = np.zeros(len(y))
    for step in smo(X, y, 1.0, random_state=0):
        i, j = step.i, step.j
        total, difference = before[i] + before[j], before[j] - before[i]
        if y[i] == y[j]:
            ends = max(0.0, total - 1.0), min(1.0, total)
        else:
            ends = max(0.0, difference), min(1.0, 1.0 + difference)
        assert (step.low, step.high) == pytest.approx(ends, abs=1e-9)
        assert step.alpha_j == pytest.approx(np.clip(step.unclipped, *ends), abs=1e-9)
        before = step.alpha


def test_the_threshold_follows_the_three_cases():
    X, y = overlapping()
    *steps, _ = smo(X, y, 1.0, random_state=0)
    for step in steps:
        if 0.0 < step.alpha_i < 1.0:
            assert step.b == step.b_i
        elif 0.0 < step.alpha_j < 1.0:
            assert step.b == step.b_j
        else:
            assert step.b == pytest.approx(0.5 * (step.b_i + step.b_j))


def test_separable_samples_have_no_bounded_alpha():
    X, y = separable()
    *_, last = smo(X, y, 1e4, random_state=0)
    assert last.alpha.max() < 1e4


def test_the_same_seed_takes_the_same_steps():
    X, y = overlapping()
    one, two = ([step.j for step in smo(X, y, random_state=3)] for _ in range(2))
    assert one == two


def test_identical_rows_with_both_labels_end():
    X, y = np.ones((4, 2)), [0, 1, 0, 1]
    assert len(list(smo(X, y, random_state=0))) <= 4


@pytest.mark.parametrize(
    ("X", "y", "C", "message"),
    [
        ([[0.0], [1.0]], [0, 0], 1.0, "two labels"),
        ([[0.0], [np.nan]], [0, 1], 1.0, "finite"),
        ([[0.0], [1.0]], [0, 1], 0.0, "C must be"),
        ([[0.0], [1.0]], [0, 1, 1], 1.0, "a row for each label"),
    ],
)
def test_what_is_wrong_is_named_at_once(X, y, C, message):
    with pytest.raises(ValueError, match=message):
        smo(X, y, C)
