"""model.report(): the facts of a fit in one block."""

import math

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, PegasosClassifier
from synthetic import classes, free_svc, free_svr, overlapping, regression, separable

X, Y = overlapping()
ROWS, TARGETS = regression()
SEVERAL, CLASSES = classes(n_classes=3)

CLASSIFIERS = [
    free_svc(),
    free_svc(multi_class="ovo"),
    free_svc(multi_class="crammer_singer"),
    free_svc(solver="dual_cd"),
    SVC(),
    SVC(multi_class="crammer_singer"),
    NuSVC(nu=0.2),
    PegasosClassifier(1e-2, kernel="rbf", tol=0.5, random_state=0),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_the_facts_of_a_classifier(model):
    facts = model.fit(SEVERAL, CLASSES).report().to_dict()
    certificate = model.certificate_
    assert facts["model"] == type(model).__name__
    assert facts["samples"] == len(CLASSES)
    assert facts["primal"] == certificate.primal
    assert facts["relative gap"] == certificate.relative_gap
    assert facts["proof"] == certificate.sentence()
    assert facts["support vectors"] == len(model.support_)
    assert facts["leave-one-out error ≤ |SV|/n"] == len(model.support_) / len(CLASSES)
    assert facts["seconds"] >= 0.0


@pytest.mark.parametrize(
    "model", [free_svr(epsilon=0.1), SVR(), NuSVR(), OneClassSVM(nu=0.2)], ids=repr
)
def test_other_models_have_no_leave_one_out_bound(model):
    facts = model.fit(ROWS, TARGETS).report().to_dict()
    assert not any(name.startswith("leave-one-out") for name in facts)
    assert facts["sum of slacks"] == model.certificate_.slack_sum


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [SVC(landmarks=5), SVC(max_iter=1, tol=1e-12), SVC(kernel="sigmoid", gamma=5.0, coef0=-1.0)],
    ids=repr,
)
def test_few_landmarks_or_an_unfinished_fit_bound_no_leave_one_out_error(model):
    facts = model.fit(*overlapping(300)).report().facts
    assert not any(name.startswith("leave-one-out") for name in facts)


def test_landmarks_of_all_samples_are_no_warning():
    assert not SVC(landmarks=len(Y)).fit(X, Y).report().warnings


@pytest.mark.parametrize(
    ("model", "formula"),
    [
        (free_svc(), "½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i))"),
        (free_svc(penalized_intercept=True), "½‖w‖² + ½ (b/s)² + Σ C_i max(0, 1 − y_i f(x_i))"),
        (free_svc(loss="squared_hinge"), "½‖w‖² + Σ C_i max(0, 1 − y_i f(x_i))²"),
        (NuSVC(nu=0.2), "½‖w‖² − ν ρ Σ c_i + Σ c_i max(0, ρ − y_i f(x_i))"),
        (free_svc(multi_class="crammer_singer"), "½‖W‖² + Σ C_i max_j"),
        (LinearSVC(penalty="l1", loss="squared_hinge"), "‖w‖₁ + Σ C_i max(0, 1 − y_i f(x_i))²"),
    ],
)
def test_the_objective_is_written_down(model, formula):
    assert model.fit(X, Y).report().facts["objective"].startswith(formula)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (free_svc(), "semismooth Newton (chosen: 4 features are few"),
        (free_svc(solver="newton"), "semismooth Newton (as asked for)"),
        (SVC(), "SMO (the solver of kernel machines)"),
        (SVC(landmarks=10), "semismooth Newton (on the features of the landmarks)"),
        (
            free_svc(multi_class="crammer_singer"),
            "dual coordinate descent (chosen: ",
        ),
    ],
)
def test_the_solver_and_why(model, words):
    assert model.fit(X, Y).report().facts["solver"].startswith(words)


def test_both_forms_of_a_hard_margin_agree():
    facts = SVC(C=math.inf, kernel="linear").fit(*separable()).report().facts
    assert facts["objective"].endswith("(hard margin)")
    assert facts["margin γ of max γ, ‖u‖ = 1"] == pytest.approx(facts["margin 1/‖w‖"], rel=1e-9)


def test_what_is_not_proven_is_a_warning():
    with pytest.warns(UserWarning, match="stopped by max_iter"):
        model = free_svc(solver="dual_cd", max_iter=1, tol=1e-9, random_state=0).fit(X, Y)
    (warning,) = model.report().warnings
    assert warning.startswith("LinearSVC was stopped by max_iter")
    assert f"warning: {warning}" in str(model.report())


def test_a_kernel_that_is_too_narrow_is_a_warning():
    report = SVC(gamma=1e4).fit(*separable()).report()
    assert report.warnings == (
        "every sample is a support vector: C may be too small, or the kernel too narrow",
    )


def test_a_linear_machine_is_told_nothing_of_its_kernel():
    report = LinearSVC(C=1e-3).fit(X, Y).report()
    assert report.warnings == ("every sample is a support vector: C may be too small",)


def test_a_constant_f_is_a_warning():
    model = free_svc().fit(np.zeros((6, 2)), [0, 1, 0, 1, 1, 1])
    assert "w = 0: f is constant" in model.report().warnings


def test_the_text_has_a_line_for_each_fact():
    report = SVC().fit(X, Y).report()
    lines = str(report).splitlines()
    assert lines[0] == "SVC"
    assert len(lines) == 2 + len(report.facts)
    assert repr(report) == str(report)


def test_a_dict_can_be_changed():
    report = SVC().fit(X, Y).report()
    report.to_dict()["primal"] = 0.0
    assert report.facts["primal"] > 0.0


def test_html_is_beside_the_diagram_once_fitted():
    model = SVC()
    assert "margin 1/‖w‖" not in model._repr_html_()
    html = model.fit(X, Y)._repr_html_()
    assert "sk-estimator" in html
    assert "margin 1/‖w‖" in html
    assert "text/html" in model._repr_mimebundle_()


def test_html_is_escaped():
    html = SVC().fit(X, Y).report()._repr_html_()
    assert html.startswith("<table")
    assert "0 < α" not in html


def test_a_pipeline_keeps_its_diagram():
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    assert "StandardScaler" in pipeline._repr_html_()


def test_a_stream_has_no_report():
    stream = PegasosClassifier().partial_fit(X, Y, classes=[-1.0, 1.0])
    with pytest.raises(AttributeError, match="stream"):
        stream.report()
    assert "sk-estimator" in stream._repr_html_()
