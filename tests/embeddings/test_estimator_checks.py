import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.embeddings import (
    FourierFeatures,
    KernelPCA,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    Nystroem,
)


# Some of the checks' data are clusters far apart, with graphs in as many pieces, and it is said.
@pytest.mark.filterwarnings("ignore:The graph of the samples has")
@pytest.mark.filterwarnings("ignore:.* rows have no neighbour")
@parametrize_with_checks(
    [
        Nystroem(random_state=0),
        Nystroem(landmarks="kmeans++", random_state=0),
        Nystroem(landmarks="rpcholesky", random_state=0),
        FourierFeatures(random_state=0),
        KernelPCA(),
        KernelPCA(n_landmarks=5, random_state=0),
        LaplacianEigenmaps(),
        LaplacianEigenmaps(affinity="rbf"),
        LocallyLinearEmbedding(n_neighbors=3),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
