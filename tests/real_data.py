"""Small real data sets as scikit-learn brings them, standardised."""

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.preprocessing import scale


def standardised(loader):
    X, y = loader(return_X_y=True)
    return scale(X), y


CANCER, IRIS = standardised(load_breast_cancer), standardised(load_iris)
DIABETES = standardised(load_diabetes)
DIGITS = (load_digits().data[:600] / 16.0, load_digits().target[:600])
