"""maxmargin.certify of models that LIBSVM and LIBLINEAR fitted."""

import pytest

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, certify
from synthetic import classes, free_svc, free_svr, overlapping, regression

X, Y = overlapping(n=80)
ROWS, TARGETS = regression(n=80)
SEVERAL, CLASSES = classes(n=90, n_classes=3)


def optimum(model, X, y, sample_weight=None):
    """The least value of the objective, to 1e-8, from this package's own solver of the problem."""
    return model.fit(X, y, sample_weight=sample_weight).certificate_.dual


# LIBSVM and LIBLINEAR


@pytest.mark.parametrize(
    ("options", "ours"),
    [
        ("-c 2 -g 0.5", SVC(C=2.0, gamma=0.5, solver="qp", tol=1e-7)),
        ("-t 0", SVC(kernel="linear", solver="qp", tol=1e-7)),
        (
            "-t 1 -g 0.3 -r 1 -d 2",
            SVC(kernel="poly", gamma=0.3, coef0=1.0, degree=2, solver="qp", tol=1e-7),
        ),
        ("-s 1 -n 0.3 -g 0.5", NuSVC(gamma=0.5, nu=0.3, tol=1e-8)),
        ("-s 2 -n 0.2 -g 0.5", OneClassSVM(gamma=0.5, nu=0.2, tol=1e-8)),
    ],
)
def test_libsvm_classifies_within_its_gap_of_the_optimum(options, ours):
    svmutil = pytest.importorskip("libsvm.svmutil")
    found = certify(svmutil.svm_train(Y, X, f"-q {options}"), X, Y)
    best = optimum(ours, X, Y)
    assert found.dual <= best + 1e-6 * abs(best)
    assert -1e-6 <= (found.primal - best) / abs(best) <= 1e-6 + found.gap / abs(best)
    assert found.relative_gap < 0.01
    assert found.sentence().startswith("LIBSVM's answer is within 0.")


@pytest.mark.parametrize("options", ["-s 3 -p 0.2", "-s 4 -n 0.3"])
def test_libsvm_regresses_within_its_gap_of_the_optimum(options):
    svmutil = pytest.importorskip("libsvm.svmutil")
    found = certify(svmutil.svm_train(TARGETS, ROWS, f"-q -g 0.5 {options}"), ROWS, TARGETS)
    nu = NuSVR(gamma=0.5, nu=0.3, tol=1e-8)
    ours = SVR(gamma=0.5, epsilon=0.2, tol=1e-8) if "-s 3" in options else nu
    best = optimum(ours, ROWS, TARGETS)
    assert found.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= found.primal <= best + found.gap + 1e-6 * best


def test_libsvm_several_classes_in_the_order_of_appearance():
    svmutil = pytest.importorskip("libsvm.svmutil")
    y = 2.0 - CLASSES
    found = certify(svmutil.svm_train(y, SEVERAL, "-q -g 0.5"), SEVERAL, y)
    best = optimum(SVC(gamma=0.5, tol=1e-8), SEVERAL, y)
    assert found.relative_gap < 0.01
    assert found.primal == pytest.approx(best, rel=1e-3)


def test_libsvm_does_not_keep_the_weights_of_classes():
    svmutil = pytest.importorskip("libsvm.svmutil")
    model = svmutil.svm_train(Y, X, "-q -w1 3")
    with pytest.raises(ValueError, match="class_weight"):
        certify(model, X, Y)
    best = optimum(SVC(class_weight={1.0: 3.0}, gamma=1 / 4, tol=1e-8), X, Y)
    assert certify(model, X, Y, class_weight={1.0: 3.0}).primal == pytest.approx(best, rel=1e-3)


def test_a_libsvm_model_from_a_file_has_no_rows(tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    path = str(tmp_path / "model")
    svmutil.svm_save_model(path, svmutil.svm_train(Y, X, "-q"))
    with pytest.raises(ValueError, match="read from a file"):
        certify(svmutil.svm_load_model(path), X, Y)


@pytest.mark.parametrize(
    ("options", "ours"),
    [
        ("-s 1 -e 1e-6", free_svc(loss="squared_hinge", fit_intercept=False, tol=1e-9)),
        (
            "-s 2 -B 2 -e 1e-6",
            free_svc(loss="squared_hinge", penalized_intercept=True, intercept_scaling=2.0),
        ),
        ("-s 3 -c 0.5 -e 1e-6", free_svc(0.5, fit_intercept=False, solver="qp", tol=1e-7)),
        ("-s 4 -e 1e-6", free_svc(multi_class="crammer_singer", fit_intercept=False, tol=1e-6)),
    ],
)
def test_liblinear_classifies_within_its_gap_of_the_optimum(options, ours):
    linear = pytest.importorskip("liblinear.liblinearutil")
    found = certify(linear.train(Y, X, f"-q {options}"), X, Y)
    best = optimum(ours.set_params(tol=1e-7), X, Y)
    assert found.primal == pytest.approx(best, rel=1e-4)
    assert found.dual <= best * (1 + 1e-5)
    assert found.relative_gap < 1e-4
    assert found.found


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ("-s 11", "squared_epsilon_insensitive"),
        ("-s 12", "squared_epsilon_insensitive"),
        ("-s 13", "epsilon_insensitive"),
    ],
)
def test_liblinear_regresses_within_its_gap_of_the_optimum(options, loss):
    linear = pytest.importorskip("liblinear.liblinearutil")
    model = linear.train(TARGETS, ROWS, f"-q -p 0.1 -B 1 -e 1e-5 {options}")
    best = optimum(
        free_svr(loss=loss, epsilon=0.1, penalized_intercept=True, tol=1e-8), ROWS, TARGETS
    )
    found = certify(model, ROWS, TARGETS)
    assert found.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= found.primal <= best + found.gap + 1e-6 * best
    assert found.relative_gap < 0.01


@pytest.mark.parametrize("kind", [3, 4])
def test_liblinear_several_classes_in_the_order_of_appearance(kind):
    linear = pytest.importorskip("liblinear.liblinearutil")
    y = 2.0 - CLASSES
    found = certify(linear.train(y, SEVERAL, f"-q -s {kind} -e 1e-5"), SEVERAL, y)
    multi_class = "crammer_singer" if kind == 4 else "ovr"
    ours = free_svc(multi_class=multi_class, fit_intercept=False, tol=1e-6)
    assert found.primal == pytest.approx(optimum(ours, SEVERAL, y), rel=1e-3)
    assert found.relative_gap < 1e-3


def test_liblinear_with_a_logistic_loss_is_refused():
    linear = pytest.importorskip("liblinear.liblinearutil")
    with pytest.raises(ValueError, match="-s 0 answers no problem"):
        certify(linear.train(Y, X, "-q -s 0"), X, Y)


# Bare weights, our own models, and what is refused


def test_liblinear_gives_the_rest_no_class_weight():
    linear = pytest.importorskip("liblinear.liblinearutil")
    options = "-q -s 2 -e 1e-9 -w1 5 -w2 0.2"
    model = linear.train(CLASSES.tolist(), SEVERAL, options)
    found = certify(model, SEVERAL, CLASSES, class_weight={1: 5.0, 2: 0.2})
    assert found.relative_gap < 1e-6
