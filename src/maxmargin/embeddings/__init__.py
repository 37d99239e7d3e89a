"""Embeddings: non-linear data in a Euclidean space, where a linear machine will do.

All are scikit-learn transformers, fitted on training rows only, and `transform` embeds a new row by
itself. `Nystroem`, `FourierFeatures` and `KernelPCA` are made of a kernel, `LaplacianEigenmaps` and
`LocallyLinearEmbedding` of a graph of neighbours.
"""

from maxmargin.embeddings.fourier import FourierFeatures
from maxmargin.embeddings.kernel_pca import KernelPCA
from maxmargin.embeddings.manifold import LaplacianEigenmaps, LocallyLinearEmbedding
from maxmargin.embeddings.nystroem import Nystroem

__all__ = [
    "FourierFeatures",
    "KernelPCA",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "Nystroem",
]
