"""Each loss against the dual formula that defines the family, on grids."""

import numpy as np
import pytest

from maxmargin.losses import EPSILON_INSENSITIVE, SQUARED, regression_loss
from reference import objective as textbook
from synthetic import LOSSES

Z = np.linspace(-4.0, 4.0, 401)
COST = 0.7
LABELS = {True: (-1.0, 1.0), False: (-1.3, 0.0, 2.0)}
CASES = [
    pytest.param(loss, y, id=f"{name}-y={y:g}")
    for name, loss in LOSSES.items()
    for y in LABELS[loss.one_sided]
]


def full(value):
    return np.full_like(Z, value)


def beta_grid(loss, y):
    """The box, cut where no maximiser for z in Z can lie; 0 and the bounds are grid points."""
    box = loss.box(np.array([y]), np.array([COST]))
    lower, upper = max(box.lower[0], -12.0), min(box.upper[0], 12.0)
    below = np.linspace(lower, 0.0, 4001) if lower < 0 else np.zeros(1)
    above = np.linspace(0.0, upper, 4001) if upper > 0 else np.zeros(1)
    return np.unique(np.concatenate([below, above]))


def dual_terms(loss, y):
    """Rows: z; columns: β of the grid; values: conjugate(β) − z β."""
    beta = beta_grid(loss, y)
    conjugate = loss.conjugate(np.full_like(beta, y), np.full_like(beta, COST), beta)
    return beta, conjugate - Z[:, None] * beta


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_value_is_the_maximum_over_beta(loss, y):
    _, terms = dual_terms(loss, y)
    value = loss.value(full(y), full(COST), Z)
    np.testing.assert_allclose(value, terms.max(axis=1), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_fenchel_young_is_an_inequality_everywhere(loss, y):
    _, terms = dual_terms(loss, y)
    value = loss.value(full(y), full(COST), Z)
    assert (value[:, None] - terms >= -1e-12).all()


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_fenchel_young_is_an_equality_at_the_slope(loss, y):
    step = 1e-6
    right, left = (loss.value(full(y), full(COST), Z + s) for s in (step, -step))
    beta = (left - right) / (2 * step)
    value = loss.value(full(y), full(COST), Z)
    young = value + Z * beta - loss.conjugate(full(y), full(COST), beta)
    np.testing.assert_allclose(young, 0.0, atol=1e-5)


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_maximiser_is_minus_the_derivative(loss, y):
    beta, terms = dual_terms(loss, y)
    step = 1e-6
    left, right = (loss.value(full(y), full(COST), Z + s) for s in (-step, step))
    middle = loss.value(full(y), full(COST), Z)
    smooth = np.abs(right - 2 * middle + left) < 10 * step**2  # away from kinks
    slope = (right - left)[smooth] / (2 * step)
    assert smooth.sum() > 300
    np.testing.assert_allclose(-slope, beta[terms.argmax(axis=1)][smooth], atol=4e-3)


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_value_is_convex(loss, y):
    value = loss.value(full(y), full(COST), Z)
    assert (value[2:] - 2 * value[1:-1] + value[:-2] >= -1e-12).all()


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_value_is_the_textbook_formula(loss, y):
    value = loss.value(full(y), full(COST), Z)
    expected = COST * textbook.loss(loss.name, y, Z, loss.epsilon)
    np.testing.assert_allclose(value, expected, rtol=1e-14)


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_slack_gives_the_value(loss, y):
    slack = loss.slack(full(y), Z)
    power = 1 if loss.bounded else 2
    np.testing.assert_allclose(loss.value(full(y), full(COST), Z), COST * slack**power, rtol=1e-14)


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_box_bounds_are_the_extreme_slopes(loss, y):
    lower, upper, curvature = (part[0] for part in loss.box(np.array([y]), np.array([COST])))
    reach = COST if loss.bounded else np.inf
    assert lower == (0.0 if loss.one_sided and y > 0 else -reach)
    assert upper == (0.0 if loss.one_sided and y < 0 else reach)
    assert curvature == (0.0 if loss.bounded else 1 / (2 * COST))


@pytest.mark.parametrize(("loss", "y"), CASES)
def test_cost_zero_leaves_a_sample_out(loss, y):
    box = loss.box(full(y), full(0.0))
    for part in box:
        np.testing.assert_array_equal(part, 0.0)
    np.testing.assert_array_equal(loss.value(full(y), full(0.0), Z), 0.0)
    np.testing.assert_array_equal(loss.conjugate(full(y), full(0.0), full(0.0)), 0.0)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_value_is_linear_in_the_cost(loss):
    y = full(1.0)
    once, twice = loss.value(y, full(COST), Z), loss.value(y, full(2 * COST), Z)
    np.testing.assert_array_equal(2 * once, twice)


def test_the_tube_belongs_to_the_losses_that_have_one():
    assert regression_loss("squared", 0.5) is SQUARED
    assert regression_loss("epsilon_insensitive", 0.5).epsilon == 0.5
    assert regression_loss("epsilon_insensitive", 0.0) == EPSILON_INSENSITIVE
