from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC, LinearSVR


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="squared_hinge", penalized_intercept=True),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
