"""Problems that a time limit leaves out have the certificate of zero."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, Intercept, Status
from maxmargin.losses import SQUARED_HINGE
from maxmargin.multiclass.unreached import Unreached
from recording import recording
from synthetic import free_svc, many_classes


def test_problems_that_were_not_begun_are_answered_once_for_each_kind(monkeypatch):
    """There may be tens of thousands of pairs, and few numbers of samples and costs."""
    make, made = recording(Unreached._made)
    monkeypatch.setattr(Unreached, "_made", make)
    X, y = many_classes()
    for model in (SVC(max_time=1e-9), free_svc(multi_class="ovo", max_time=1e-9)):
        made.clear()
        with pytest.warns(ConvergenceWarning, match="Raise max_time"):
            model.fit(X, y)
        assert len(model.solutions_) == 190
        assert len(made) <= 1


def test_several_problems_are_answered_as_each_alone():
    rng = np.random.default_rng(0)
    ys = [np.repeat([1.0, -1.0], sizes) for sizes in ((4, 6), (3, 3), (4, 6))]
    costs = [rng.uniform(0.5, 2.0, size=len(y)) * (np.arange(len(y)) > 0) for y in ys]
    costs[2] = costs[0]
    maker = Unreached(SQUARED_HINGE, Intercept.FREE, Status.STOPPED_BY_TIME, "newton")
    together = maker.solutions(ys, costs, [2, 2, 5], 0.0)
    for y, cost, size, found in zip(ys, costs, [2, 2, 5], together, strict=True):
        (alone,) = maker.solutions([y], [cost], [size], 0.0)
        assert found.certificate == alone.certificate
        assert (found.b, found.w.shape, found.beta.shape) == (alone.b, (size,), (len(y),))
