import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import EmbeddedSVC, EmbeddedSVR


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        EmbeddedSVC(),
        EmbeddedSVR(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
