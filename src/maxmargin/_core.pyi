"""
The compiled core of maxmargin: epochs and passes on arrays that NumPy owns.
"""

from collections.abc import Callable
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray
from typing_extensions import CapsuleType


class Rows:
    """A read-only view of the samples, dense or CSR."""

    @overload
    def __init__(self, X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @property
    def n_samples(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def work(self, begin: int, end: int) -> int:
        """Stored values in a range of rows."""

    def predict(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def combine(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def products(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def products_of_pairs(self, pairs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @overload
    def compress(self, begin: int, end: int, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    @overload
    def compress(self, begin: int, end: int, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> bool: ...

    def squared_norms(self, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class TargetSummary:
    """How far labels and costs reach."""

    def __init__(self, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def max_abs(self) -> float:
        """The largest |y|; infinite if one is not finite."""

    @property
    def total_cost(self) -> float: ...

    @property
    def valid(self) -> bool:
        """Whether every cost is finite, and 0 or larger."""

    @property
    def is_binary(self) -> bool:
        """Whether every y is -1 or +1."""

    @property
    def constant(self) -> bool:
        """Whether samples of positive cost have one y."""

@overload
def second_label(y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

@overload
def second_label(y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

@overload
def second_label(y: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

@overload
def second_label(y: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

@overload
def second_label(y: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int: ...

@overload
def second_label(y: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """
    The first row of another label than y[0], if there are just two; else 0.
    """

class Random:
    def __init__(self, seed: int) -> None: ...

    def below(self, bound: int) -> int:
        """A uniform draw from 0, ..., bound - 1."""

    def shuffle_rows(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], count: int) -> None:
        """
        Put the first rows of the order, which has each row once, in a new one.
        """

class Terms:
    """Labels, costs and loss: the per-sample terms."""

    def __init__(self, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_scale: float, epsilon: float, one_sided: bool, bounded: bool) -> None: ...

class Bias:
    """The intercept as a feature of constant value, beside an anchor."""

    def __init__(self, feature: float, anchor: float, free: bool = False) -> None:
        """
        A free one's weight is no part of the objective, and the anchor follows.
        """

    @property
    def feature(self) -> float: ...

    @feature.setter
    def feature(self, arg: float, /) -> None: ...

    @property
    def anchor(self) -> float: ...

    @anchor.setter
    def anchor(self, arg: float, /) -> None: ...

    @property
    def free(self) -> bool: ...

class ClassBias:
    """The intercepts of K classes, in a caller's arrays."""

    def __init__(self, feature: float, free: bool, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def fit_map_weights(functions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Weights >= 0 of four functions in log-odds, by likelihood, held to those of `centre`.
    """

class CertificateSums:
    """What some rows add to a certificate."""

    def __add__(self, arg: CertificateSums, /) -> CertificateSums: ...

    @property
    def losses(self) -> float: ...

    @property
    def conjugates(self) -> float: ...

    @property
    def fenchel_young(self) -> float: ...

    @property
    def slacks(self) -> float: ...

    @property
    def sum(self) -> float: ...

    @property
    def size(self) -> float: ...

    @property
    def kkt_violation(self) -> float: ...

    @property
    def n_free(self) -> int: ...

    @property
    def n_bounded(self) -> int: ...

class Squares:
    """The squared lengths of w and v and of what is between them."""

    def __init__(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]) -> None: ...

    @property
    def own(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def apart(self) -> float: ...

class CertificateTerms:
    """Labels, costs and loss as the certificate reads them."""

    def __init__(self, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_scale: float, epsilon: float, one_sided: bool, bounded: bool) -> None: ...

    def clip(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """beta inside its box."""

    def balance(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Scale entries of a beta inside its box until they sum to 0."""

    def sum_rows(self, rows: Rows, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, dual_w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> CertificateSums: ...

    def sum_rows_of_w(self, rows: Rows, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], begin: int, end: int, dual_w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> CertificateSums:
        """By the beta that belongs to w, which is written."""

    def sum_values(self, f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> CertificateSums:
        """Without the rows, where the values f(x_i) are known."""

    def best_offsets(self, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], free: bool, nu_sum: float) -> Offsets:
        """What minimises P at values z: b, and the number in the loss."""

    def best_intercept(self, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float) -> float:
        """What minimises P at values z: b, sought from this one on."""

    def fractions(self, f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Fractions: ...

class Offsets:
    """An intercept, and the margin or tube."""

    @property
    def b(self) -> float: ...

    @property
    def number(self) -> float: ...

class Fractions:
    """Shares of the costs."""

    @property
    def margin_errors(self) -> float: ...

    @property
    def support_vectors(self) -> float: ...

class CertificateParts:
    """What the certificate of a small kernel machine is made of."""

    @property
    def b(self) -> float: ...

    @property
    def number(self) -> float: ...

    @property
    def square(self) -> float: ...

    @property
    def sums(self) -> CertificateSums: ...

    @property
    def fractions(self) -> Fractions: ...

def exact_products(rows: Rows, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """<w, x_i> as high + low, to twice the digits of a double."""

class Classes:
    """Labels 0, ..., K - 1, costs and row norms."""

    def __init__(self, y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int) -> None: ...

    def sum_rows(self, rows: Rows, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], begin: int, end: int, dual_W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> CertificateSums: ...

    def sum_values(self, z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> CertificateSums: ...

def padded(n_classes: int, narrow: bool = False) -> int:
    """
    Length of a piece of classes, in whole vectors of float64 or of float32.
    """

def by_feature(rows: Rows) -> bool:
    """
    Whether weights that meet these rows are laid out a feature after the other.
    """

def predict_classes(rows: Rows, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_classes: int, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def combine_classes(rows: Rows, beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], begin: int, end: int, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

class KernelKind(enum.Enum):
    linear = 0

    polynomial = 1

    gaussian = 2

    sigmoid = 3

    cosine = 4

class KernelFormula:
    """A kernel of <x, z>, |x|^2 and |z|^2."""

    def __init__(self, kind: KernelKind, gamma: float, offset: float, degree: int) -> None: ...

def sparse_products(A: Rows, B: Rows, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """out = A B' of CSR rows, in double."""

def sparse_distances(A: Rows, B: Rows, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Squared distances of CSR rows, from their differences, in double."""

class KernelRows:
    """A source of kernel rows."""

    @overload
    def __init__(self, samples: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], formula: KernelFormula, n_threads: int) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], formula: KernelFormula, n_threads: int) -> None: ...

    @overload
    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], formula: KernelFormula, n_threads: int) -> None: ...

    @overload
    def __init__(self, function: Callable[[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]], n_samples: int) -> None: ...

    @overload
    def predict(self, samples: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """Sums of coef times kernel values with the samples of this source."""

    @overload
    def predict(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def predict(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], parts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    def twice(self) -> KernelRows:
        """Every sample twice: rows of n values, and the same again."""

    def centred(self, means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: float) -> KernelRows:
        """Values seen from a point c: k(x, z) - <x, c> - <z, c> + <c, c>."""

    def rows(self, index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

class ClassRows:
    """Kernel rows of a class among its own samples."""

    def __init__(self, source: KernelRows, most: int) -> None: ...

    def pair(self, other: ClassRows, n_threads: int) -> KernelRows:
        """
        The source of rows for the samples of this class, then those of the other.
        """

    @property
    def rows_kept(self) -> int: ...

class Sweep:
    """Where dual coordinate descent stands."""

    def __init__(self, n_active: int) -> None: ...

    @property
    def n_active(self) -> int: ...

    @n_active.setter
    def n_active(self, arg: int, /) -> None: ...

    @property
    def share(self) -> float: ...

    @share.setter
    def share(self, arg: float, /) -> None: ...

    @property
    def threshold(self) -> float: ...

    @threshold.setter
    def threshold(self, arg: float, /) -> None: ...

    @property
    def violation(self) -> float: ...

    @property
    def violations(self) -> float: ...

    @property
    def last_gap(self) -> float: ...

    @property
    def left(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @dual.setter
    def dual(self, arg: float, /) -> None: ...

    @property
    def last_dual(self) -> float: ...

    @property
    def bias_weight(self) -> float: ...

    @bias_weight.setter
    def bias_weight(self, arg: float, /) -> None: ...

    @property
    def epochs(self) -> int: ...

    @epochs.setter
    def epochs(self, arg: int, /) -> None: ...

    @property
    def steps(self) -> int: ...

class SweepBudget:
    """When a call ends: by epochs, gap or time."""

    def __init__(self, max_epochs: int, relative_target: float, seconds: float) -> None: ...

class DualProblem:
    """Rows, terms and norms of a linear problem."""

    def __init__(self, rows: Rows, terms: Terms, squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class DualState:
    """A dual point and its sweep, in a caller's arrays."""

    def __init__(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], bias: Bias, sweep: Sweep, random: Random) -> None: ...

@overload
def dual_cd(problem: DualProblem, state: DualState, w: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], budget: SweepBudget) -> None: ...

@overload
def dual_cd(problem: DualProblem, state: DualState, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], budget: SweepBudget) -> None: ...

class RestState:
    """The K dual points of one-vs-rest and their sweep."""

    def __init__(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], active: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], bias: ClassBias, n_classes: int, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sweep: Sweep) -> None: ...

    @property
    def threshold(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Of each class: the slack beyond which a pair is not active."""

    @property
    def dual(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Of each class: the value of its dual objective."""

class RestProblem:
    """K problems over the same rows, one a class."""

    def __init__(self, rows: Rows, y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], terms: Terms, squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int) -> None: ...

@overload
def one_vs_rest(problem: RestProblem, state: RestState, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], seconds: float) -> bool: ...

@overload
def one_vs_rest(problem: RestProblem, state: RestState, W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], seconds: float) -> bool:
    """
    An epoch for all classes, or the part of it that fits in the time; whether it is whole.
    """

class ClassState:
    """The dual point of K classes and its sweep."""

    def __init__(self, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bias: ClassBias, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], sweep: Sweep, random: Random) -> None: ...

@overload
def crammer_singer(rows: Rows, classes: Classes, state: ClassState, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], relax: float, budget: SweepBudget) -> None: ...

@overload
def crammer_singer(rows: Rows, classes: Classes, state: ClassState, W: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], relax: float, budget: SweepBudget) -> None: ...

class L1WorkingSet:
    """Some columns of an l1-regularised problem."""

    def __init__(self, rows: Rows, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def append(self, rows: Rows, features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Pack these columns too."""

    def append_constant(self, value: float, penalty: float) -> None:
        """Pack a column of this value: that of the intercept."""

    def scale_costs(self, by: float) -> None:
        """Multiply all costs; `restart` is to follow."""

    def restart(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Go to w, with residuals of its own."""

    def descend(self, max_epochs: int, target: float, stop: Callable[[], bool]) -> None:
        """Make epochs until the gap of these columns is at most the target."""

    def newton(self, precision: float, max_iterations: int, stop: Callable[[], bool]) -> None:
        """Make a Newton step on the support."""

    @property
    def w(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def residual(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def dual_residual(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def stored(self) -> int: ...

    @property
    def primal(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def epochs(self) -> int: ...

class Blas:
    """Functions of SciPy's BLAS and LAPACK."""

    def __init__(self, dsyrk: CapsuleType, dgemm: CapsuleType, dtrsm: CapsuleType, dpotrf: CapsuleType, dpotrs: CapsuleType) -> None: ...

ROWS_FOR_HESSIAN: int = 100

class NewtonLevel:
    """Newton's method on all rows, or on a sample."""

    def __init__(self, rows: Rows, terms: Terms, bias: Bias, blas: Blas) -> None: ...

    def start(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], softness: float, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, stop: Callable[[], bool]) -> None:
        """Go to w; without a centre, take the middle of the box."""

    def descend(self, squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: float, random: Random, stop: Callable[[], bool]) -> None:
        """
        Go to where stochastic steps of a squared loss lead; `feature` is the intercept's.
        """

    def step(self, stop: Callable[[], bool]) -> None: ...

    def use_hessian_of(self, sample: NewtonLevel, indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Take the curvature from a sample of the rows at these indices, if it has rows enough.
        """

    def rough_solve(self, tol: float, shrink: float, floor: float, max_steps: int, stop: Callable[[], bool]) -> None: ...

    def solve(self, tol: float, shrink: float, max_steps: int, stop: Callable[[], bool]) -> None: ...

    def hessian(self, stop: Callable[[], bool]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The upper triangle, column by column."""

    @property
    def w(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def z(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def combination(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def flags(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def b(self) -> float: ...

    @property
    def arranged(self) -> bool: ...

    @property
    def softness(self) -> float: ...

    @property
    def n_steps(self) -> int: ...

    @property
    def n_sloped(self) -> int: ...

    @property
    def primal(self) -> float: ...

    @property
    def softening(self) -> float: ...

    @property
    def imbalance(self) -> float: ...

class PoissonSample:
    """A sample of the rows, each with a chance of its own."""

    def __init__(self, cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], share: float, by_norm: float, expected: int, random: Random) -> None:
        """Row k has the chance share + by_norm * cost_k * squared_norms_k."""

    @property
    def indices(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def numbers(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def chances(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Line:
    """z + s dz, and what w + s dw adds to the objective along it."""

    def __init__(self, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dz: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slope_at_0: float, w_dot_dw: float, dw_square: float) -> None: ...

def line_search(terms: Terms, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], softness: float, line: Line, precision: float) -> float: ...

class Sampler:
    """Epochs of mini-batches, drawn into a caller's array."""

    def __init__(self, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], batch_size: int, uniform: bool) -> None: ...

    @property
    def n_batches(self) -> int: ...

    @property
    def cursor(self) -> int: ...

    @property
    def epochs(self) -> int: ...

    def begin(self, batch: int) -> int:
        """Where a batch begins in the order."""

class Window:
    """The recent visits, from which the dual point is made."""

    def __init__(self, tally: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], horizon: int) -> None: ...

    @property
    def horizon(self) -> int: ...

    @property
    def mistakes(self) -> int: ...

    @property
    def epoch_mistakes(self) -> int: ...

class EpochState:
    """Where a run of a stochastic method stands beside it."""

    def __init__(self, sampler: Sampler, window: Window, random: Random) -> None: ...

class EpochBudget:
    """When a call ends: by epochs, mistakes or time."""

    def __init__(self, max_epochs: int, until_clean: bool, seconds: float) -> None: ...

class Iterate:
    """A scaled point and its average, in two vectors."""

    def __init__(self, v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_biases: int) -> None: ...

    @property
    def scale(self) -> float: ...

    @scale.setter
    def scale(self, arg: float, /) -> None: ...

    @property
    def mass(self) -> float: ...

    @mass.setter
    def mass(self, arg: float, /) -> None: ...

    @property
    def total(self) -> float: ...

    @total.setter
    def total(self, arg: float, /) -> None: ...

    @property
    def b(self) -> float: ...

    @b.setter
    def b(self, arg: float, /) -> None: ...

    @property
    def b_sum(self) -> float: ...

    @b_sum.setter
    def b_sum(self, arg: float, /) -> None: ...

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

class RivalRows:
    """Rows that face a rival class, for K classes."""

    def __init__(self, rows: Rows, y: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, feature: float, anchor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def n_features(self) -> int: ...

class KernelView:
    """The kernel matrix as rows of a stochastic solver."""

    def __init__(self, source: KernelRows, n_features: int, capacity: int, together: int) -> None: ...

    def combine(self, index: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Adds the rows times coef to out."""

    @property
    def rows_computed(self) -> int: ...

class Averaging(enum.Enum):
    none = 0

    uniform = 1

    suffix = 2

    weighted = 3

class Pegasos:
    def __init__(self, iterate: Iterate, bias: Bias, n_samples: int, offset: float, averaging: Averaging, radius: float, bias_in_ball: bool) -> None: ...

    @property
    def offset(self) -> float: ...

    @property
    def bias(self) -> Bias: ...

    @bias.setter
    def bias(self, arg: Bias, /) -> None: ...

@overload
def descend(rows: Rows, terms: Terms, method: Pegasos, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: RivalRows, terms: Terms, method: Pegasos, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: KernelView, terms: Terms, method: Pegasos, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: Rows, terms: Terms, method: PlainSgd, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: RivalRows, terms: Terms, method: PlainSgd, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: Rows, terms: Terms, method: DenseSgd, state: EpochState, budget: EpochBudget) -> None: ...

@overload
def descend(rows: RivalRows, terms: Terms, method: DenseSgd, state: EpochState, budget: EpochBudget) -> None: ...

class Schedule:
    """step(t) = first / (offset + rate t)^power"""

    def __init__(self, first: float, offset: float, rate: float, power: float) -> None: ...

    def step(self, t: int) -> float: ...

class SgdProblem:
    def __init__(self, lam: float, per_row: float, schedule: Schedule, bias: Bias) -> None: ...

    @property
    def bias(self) -> Bias: ...

    @bias.setter
    def bias(self, arg: Bias, /) -> None: ...

class PlainSgd:
    def __init__(self, iterate: Iterate, problem: SgdProblem) -> None: ...

    @property
    def problem(self) -> SgdProblem: ...

    @problem.setter
    def problem(self, arg: SgdProblem, /) -> None: ...

class Update(enum.Enum):
    momentum = 0

    nesterov = 1

    adagrad = 2

    rmsprop = 3

    adam = 4

class DenseSgd:
    """Rules that remember past gradients."""

    def __init__(self, memory: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], problem: SgdProblem, update: Update, momentum: float, decay: float) -> None: ...

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

    @property
    def averaged(self) -> int: ...

    @averaged.setter
    def averaged(self, arg: int, /) -> None: ...

    @property
    def problem(self) -> SgdProblem: ...

    @problem.setter
    def problem(self, arg: SgdProblem, /) -> None: ...

class SmoProblem:
    """Targets, boxes and groups of the dual variables."""

    def __init__(self, target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], epsilon: float, balanced: bool) -> None: ...

class Smo:
    """Two-level sequential minimal optimisation."""

    def __init__(self, source: KernelRows, problem: SmoProblem, working: int, capacity: int, first: int | None = None) -> None: ...

    def run(self, tol: float, negligible: float, max_outer: int, stop: Callable[[], bool]) -> None:
        """Outer steps until the gap seems small enough."""

    def go_on(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], residual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dual: float) -> None:
        """Start or go on from there."""

    def forget_rows(self) -> None:
        """
        Give the memory of the kernel rows back; those needed are computed again.
        """

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def residual(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def dual(self) -> float: ...

    @property
    def thresholds(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def violation(self) -> float:
        """LIBSVM's m - M."""

    @property
    def steps(self) -> int: ...

    @property
    def outer_steps(self) -> int: ...

    @property
    def rows_computed(self) -> int: ...

    @property
    def most_held(self) -> int: ...

class ClassSmo:
    """Two-level block coordinate ascent for K classes."""

    def __init__(self, source: KernelRows, classes: Classes, free: bool, penalty: float, working: int, capacity: int, kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, first: int | None = None) -> None: ...

    def run(self, tol: float, negligible: float, max_outer: int, stop: Callable[[], bool]) -> None:
        """Outer steps until the gap seems small enough."""

    def go_on(self, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Go on from there."""

    @property
    def alpha(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def scores(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def b(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def violation(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def outer_steps(self) -> int: ...

    @property
    def rows_computed(self) -> int: ...

def gaussian_values(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], a_squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b_squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gamma: float) -> None:
    """exp(-gamma |a - b|^2) in place of <a, b>."""

def polynomial_values(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], gamma: float, coef0: float, degree: int) -> None:
    """(gamma <a, b> + coef0)^degree in place of <a, b>."""

class DenseSmo:
    """SMO on few samples, whose kernel matrix is at hand."""

    def __init__(self, kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], epsilon: float, balanced: bool, elsewhere: float = 0.0) -> None: ...

    def start(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def run(self, tol: float, negligible: float, max_outer: int, stop: Callable[[], bool]) -> bool:
        """Outer steps until the gap seems small enough: then True."""

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def variables(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Group after group."""

    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """K beta."""

    @property
    def violation(self) -> float:
        """LIBSVM's m - M."""

    @property
    def steps(self) -> int: ...

    @property
    def outer_steps(self) -> int: ...

class Outcome:
    """How far SMO came."""

    @property
    def satisfied(self) -> bool: ...

    @property
    def steps(self) -> int: ...

    @property
    def outer_steps(self) -> int: ...

    @property
    def violation(self) -> float: ...

class ProblemBatch:
    """Hinge problems over samples of one kernel matrix."""

    def __init__(self, kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sample: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], nu_sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], free: bool) -> None: ...

    def solve(self, negligible: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, max_outer: int, stop: Callable[[], bool], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> list[Outcome]:
        """Outer steps on each until its gap seems small enough."""

    def certify(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[CertificateParts]:
        """What each certificate is made of."""
