"""Gaps, objectives and bounds over time and epochs."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from drawing import CLASSES, SEVERAL, X, Y, legend, rendered
from maxmargin import PegasosClassifier
from maxmargin.plots import ConvergenceDisplay
from maxmargin.solution import Record
from synthetic import free_svc


def test_the_gap_closes():
    model = free_svc(solver="dual_cd", tol=1e-6, random_state=0).fit(X, Y)
    display = rendered(ConvergenceDisplay.from_estimator(model))
    gaps = display.lines_[0].get_ydata()
    last = model.history_[-1]
    assert gaps[-1] == pytest.approx(last.gap / last.dual)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "seconds"


def test_primal_comes_from_above_and_dual_from_below():
    model = free_svc(solver="dual_cd", tol=1e-6, random_state=0).fit(X, Y)
    display = rendered(ConvergenceDisplay.from_estimator(model, x="epoch", quantity="objective"))
    primal, dual = (line.get_ydata() for line in display.lines_)
    assert (primal >= dual).all()
    assert primal[-1] == model.history_[-1].primal


def test_several_solvers_in_one_picture_with_the_bound_of_pegasos():
    pegasos = PegasosClassifier(1e-2, fit_intercept=False, averaging="uniform", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pegasos.set_params(sampling="uniform", max_iter=20).fit(X, Y)
    other = free_svc(lam=1e-2, fit_intercept=False).fit(X, Y)
    models = {"Newton": other, "Pegasos": pegasos}
    display = rendered(ConvergenceDisplay.from_estimator(models, x="epoch"))
    assert legend(display) == ["Newton", "Pegasos", "Pegasos: bound of the theorem"]
    bound = display.lines_[-1].get_ydata()
    last = pegasos.history_[-1]
    assert isinstance(last, Record)
    dual = last.dual
    assert bound[-1] == pytest.approx(pegasos.bound_ / dual)
    assert (np.diff(bound[1:]) < 0.0).all()


def test_without_a_theorem_there_is_no_bound():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PegasosClassifier(1e-2, max_iter=5, random_state=0).fit(X, Y)
    assert len(rendered(ConvergenceDisplay.from_estimator(model)).lines_) == 1


def test_each_problem_of_several_classes_has_a_line():
    model = free_svc(solver="dual_cd", random_state=0).fit(SEVERAL, CLASSES)
    assert len(rendered(ConvergenceDisplay.from_estimator(model)).lines_) == 3


@pytest.mark.parametrize("option", [{"x": "steps"}, {"quantity": "loss"}])
def test_unknown_quantities_are_refused(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        ConvergenceDisplay.from_estimator(free_svc().fit(X, Y), **option)
