import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, PegasosClassifier


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge", penalized_intercept=False),
        LinearSVC(loss="hinge", penalized_intercept=False, multi_class="ovo", tol=1e-9),
        LinearSVR(),
        LinearSVR(penalized_intercept=False),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
        SVC(),
        SVC(kernel="linear"),
        SVC(multi_class="ovr"),
        SVC(multi_class="crammer_singer", tol=1e-9),
        SVR(),
        NuSVR(),
        OneClassSVM(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# The check of weights compares decision values to 1e-7, so that the gap must be about the square of
# that; not all of the checks' unscaled data can be solved so far, and the warning says so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVC(multi_class="crammer_singer", tol=1e-13)])
def test_scikit_learn_check_of_one_problem(estimator, check):
    check(estimator)


# Pegasos promises no tolerance on the checks' unscaled data, and says so in a warning. Of so few
# samples its steps take all by default: no draws, so that a weight is a repetition to the digit.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        PegasosClassifier(max_iter=100),
        PegasosClassifier(kernel="rbf", max_iter=100),
        PegasosClassifier(0.01, multi_class="crammer_singer", max_iter=100),
    ]
)
def test_scikit_learn_check_of_pegasos(estimator, check):
    check(estimator)


# With class weights of 1000 and 0.0001 hardly any nu is feasible, and NuSVC says so.
@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@pytest.mark.filterwarnings("ignore:NuSVC stalled")  # a pair of almost coinciding means, ‖w‖ = 3e-6
@parametrize_with_checks([NuSVC(nu=0.34)])
def test_scikit_learn_check_of_nu_svc(estimator, check):
    check(estimator)
