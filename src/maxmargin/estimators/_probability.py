"""predict_proba of the classifiers, from a map that is fitted when it is first asked for."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin.calibration.leave_one_out import Span, free, squared_by_leverages
from maxmargin.calibration.several_classes import Decision, ProbabilityMap, fit_map
from maxmargin.data.arrays import Array, Matrix
from maxmargin.data.targets import class_numbers
from maxmargin.estimators._duplicates import equal_rows
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.pairwise import dense, plain
from maxmargin.runtime.blas_threads import one_blas_thread

#: Most training samples whose scores a map is fitted to, of all classes and times the number of
#: classes, and the most values of them that are kept.
_MOST_SAMPLES, _MOST_OF_CLASS, _MOST_VALUES = 4096, 512, 2**23

#: Samples that are kept whatever their length, and of each class if it has as many.
_FEWEST_SAMPLES, _FEWEST_OF_CLASS = 256, 32

#: Most samples that span, and features for which leverages are taken.
_MOST_SPANNING, _FEW = 1024, 1024

#: Most equal samples that count as one, and most samples that one counts for.
_MOST_EQUAL = 5

#: A cost that lets the squared hinge hold samples where they are, beside 1 over their size.
_STIFF = 1e6


class LazyMap:
    """A map that is fitted once, by whichever thread asks first.

    A pickle holds the map, not the samples that it is fitted to. Copies share it.
    """

    def __init__(self, fit: Callable[[], ProbabilityMap]) -> None:
        self._lock, self._fit = threading.Lock(), fit
        self._map: ProbabilityMap | None = None

    def get(self) -> ProbabilityMap:
        """Return the map."""
        with self._lock:
            if self._map is None:
                self._map = self._fit()
                del self._fit
            return self._map

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyMap:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_map": self.get()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lock, self._map = threading.Lock(), state["_map"]


@dataclass(frozen=True, eq=False)
class Geometry:
    """The space of the problems, and what the intercept and the loss are in it.

    Without a `kernel` the samples are rows of kernel values. `constant` is added to it by a
    penalised intercept, a free one makes spans affine. The squared hinge is `soft`.
    """

    kernel: Kernel | None
    affine: bool
    constant: float = 0.0
    soft: bool = False


class ProbabilisticClassifier:
    """Gives a fitted classifier `predict_proba`. What it needs of one follows here."""

    classes_: NDArray[Any]
    _probabilities: LazyMap

    def _training_blocks(self, X: Any) -> Iterator[Array]:
        """Do the same for rows of the fit, as `_keep_for_probabilities` was given them."""
        return self._value_blocks(X)

    def _value_blocks(self, X: Any) -> Iterator[Array]:
        """Yield f of every problem for some rows at a time, a column for each problem."""
        raise NotImplementedError

    def _winners(self, values: Array) -> NDArray[np.intp]:
        """Return the place of the predicted class from such values."""
        raise NotImplementedError

    def _decision(self) -> Decision:
        """Return what the columns of values are of."""
        raise NotImplementedError

    def _expansions(self) -> list[tuple[Array, float]]:
        """Return c of f = Σ c_i k(x_i, ·) + b, and by what it was divided, for each column."""
        raise NotImplementedError

    def _geometry(self) -> Geometry:
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, whose largest is that of the predicted one.

        The first call fits the map from decision values to probabilities to leave-one-out scores
        of the training data; `probability=True` has `fit` do so.
        """
        check_is_fitted(self)
        to_probabilities = self._probabilities.get()
        blocks = [to_probabilities(f, self._winners(f)) for f in self._value_blocks(X)]
        return np.concatenate(blocks)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def _keep_for_probabilities(
        self,
        X: Matrix,
        y: NDArray[Any],
        cost: Array,
        members: list[NDArray[np.intp]] | None,
        costs: list[Array] | None = None,
        sample_weight: Any = None,
    ) -> None:
        """Keep what a map will be fitted to: a copy of at most some thousand of the rows.

        Where pairs are solved, `members` has the rows of each. `cost` weighs the samples, and is
        that of every problem unless `costs` has one for each. `sample_weight` counts them.
        """
        costs = costs or [cost] * len(self._expansions())
        numbers = class_numbers(self.classes_, y)
        places, stands_for = _sampled(X, numbers)
        if len(places) < X.shape[0] and not self._geometry().soft:
            counted, kept = np.zeros(X.shape[0]), np.zeros(X.shape[0], dtype=bool)
            counted[places], kept[places] = stands_for, True
            kept[self._spanning(costs, members, len(places))] = True
            places = np.flatnonzero(kept)
            stands_for = counted[places]
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        model = object.__new__(type(self))  # its parameters may be changed after the fit
        vars(model).update(vars(self))
        for name in ("_probabilities", "feature_names_in_"):
            vars(model).pop(name, None)
        training = Training(
            model,
            X[places],
            places,
            members,
            numbers[places],
            cost[places],
            [each[places] for each in costs],
            stands_for,
            np.broadcast_to(weights, len(cost))[places],
        )
        self._probabilities = LazyMap(training.fitted_map)
        if getattr(self, "probability", False) not in (False, "deprecated"):
            self._probabilities.get()

    def _spanning(
        self, costs: list[Array], members: list[NDArray[np.intp]] | None, most: int
    ) -> NDArray[np.intp]:
        """Return the places of the samples whose span counts, of all problems together."""
        expansions, found = self._expansions(), []
        for problem, ((coef, unit), cost) in enumerate(zip(expansions, costs, strict=True)):
            used = np.flatnonzero(coef != 0.0)
            rows = members[problem][used] if members else used
            inside = rows[free(np.abs(coef[used]), cost[rows] / unit)]
            found.append(_thinned(inside, most // len(expansions)))
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Training:
    """Samples of a fitted model: the numbers of their classes, their costs, those in each problem.

    `places` are theirs in the training data, of which each stands for so many; for 0 if it is only
    here because others are in its span. Few equal ones of a class are one, with the sum of their
    weights, as bootstraps draw them: what is left out is all of it. Many are one that recurs.
    """

    model: Any
    X: Matrix
    places: NDArray[np.intp]
    members: list[NDArray[np.intp]] | None
    numbers: NDArray[np.intp]
    cost: Array
    costs: list[Array]
    stands_for: Array
    sample_weight: Array

    def fitted_map(self) -> ProbabilityMap:
        """Return the map fitted to the leave-one-out scores."""
        with one_blas_thread():
            scores = np.concatenate(list(self.model._training_blocks(self.X)))
            for some, column, shares in self._own_shares():
                scores[some, column] -= shares
            n_classes, kind = len(self.model.classes_), self.model._decision()
            first, group = self._distinct
            weight = np.bincount(group, self.cost * self.stands_for)
            single, times = np.zeros(len(first)), self.sample_weight * self.stands_for
            np.maximum.at(single, group, self.stands_for)
            used = weight > 0.0
            count = np.clip(np.bincount(group, times), single, _MOST_EQUAL * single)[used].sum()
            some, weight = first[used], weight[used] * (count / weight.sum())
            return fit_map(scores[some], self.numbers[some], weight, n_classes, kind)

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first of each group of samples that are one, and the groups of all."""
        every = np.arange(len(self.places))
        numeric = self.X.dtype.kind == "f"
        equal = equal_rows(self.X, self.numbers, self.cost, len(every) - 1) if numeric else None
        if equal is None:
            return every, every
        few = np.bincount(equal.group)[equal.group] <= _MOST_EQUAL
        return np.unique(np.where(few, equal.first[equal.group], every), return_inverse=True)

    def _own_shares(self) -> Iterator[tuple[NDArray[np.intp], int, Array]]:
        """Yield what samples add to their own values: which ones, the column, how much."""
        geometry = self.model._geometry()
        expansions = self.model._expansions()
        members: Sequence[Any] = self.members or [None] * len(expansions)
        problems = zip(expansions, members, self.costs, strict=True)
        for column, ((coef, unit), rows, cost) in enumerate(problems):
            some, own = self._sampled_of(coef, rows)
            first, group = self._distinct
            inside = np.bincount(group[some], minlength=len(first)) > 0
            share, bound = (
                np.asarray(np.bincount(group[some], values, len(first))[inside], dtype=np.float64)
                for values in (own, cost[some] / unit)
            )
            squares = self._squared_spans(first[inside], np.abs(share), bound, geometry)
            yield first[inside], column, share * squares

    def _sampled_of(
        self, coef: Array, rows: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.intp], Array]:
        """Return which of the samples are among the rows of a problem, and their coefficients."""
        if rows is None:
            return np.arange(len(self.places)), coef[self.places]
        at = np.full(1 + max(self.places.max(), rows.max()), -1)
        at[rows] = np.arange(len(rows))
        some = np.flatnonzero(at[self.places] >= 0)
        return some, coef[at[self.places[some]]]

    def _squared_spans(
        self, some: NDArray[np.intp], alpha: Array, cost: Array, geometry: Geometry
    ) -> Array:
        """S² of the samples that the decision values depend on, 0 of the others."""
        squares, used = np.zeros(len(some)), np.flatnonzero((alpha > 0.0) & (cost > 0.0))
        if len(used) == 0:
            return squares
        inside = used if geometry.soft else np.flatnonzero(free(alpha, cost))
        if isinstance(geometry.kernel, Linear) and self.X.shape[1] < min(_FEW, len(inside)):
            Z, penalty = _features(self.X[some[used]], geometry)
            own, times = cost[used], self.stands_for[some[used]]
            if not geometry.soft:
                own = np.where(free(alpha, cost)[used], _STIFF / (np.square(Z).mean() or 1.0), 0.0)
                times = np.ones(len(used))
            squares[used] = squared_by_leverages(Z, own, penalty, times)
            return squares
        inside = _thinned(inside, _MOST_SPANNING)
        rest = np.setdiff1d(used, inside)
        if len(inside) == 0:
            squares[used] = 0.0 if geometry.affine else self._diagonal(some[used], geometry)
            return squares
        basis = some[inside]
        soft = 0.5 / cost[inside] if geometry.soft else np.zeros(len(inside))
        span = Span(self._products(basis, basis, geometry), soft, affine=geometry.affine)
        squares[inside] = span.own
        if len(rest):
            products = self._products(basis, some[rest], geometry)
            diagonal = self._diagonal(some[rest], geometry)
            squares[rest] = span.squared_distances(products, diagonal)
        return squares

    def _products(self, a: NDArray[np.intp], b: NDArray[np.intp], geometry: Geometry) -> Array:
        if geometry.kernel is None:
            return np.asarray(plain(self.X[a][:, self.places[b]]), dtype=np.float64)
        return geometry.kernel(self.X[a], self.X[b]) + geometry.constant

    def _diagonal(self, a: NDArray[np.intp], geometry: Geometry) -> Array:
        if geometry.kernel is None:
            return np.asarray(plain(self.X[a, self.places[a]]), dtype=np.float64).ravel()
        return geometry.kernel.diagonal(self.X[a]) + geometry.constant


def _features(X: Matrix, geometry: Geometry) -> tuple[Array, Array]:
    """Return samples of a linear kernel with a column for the intercept, and what is penalised."""
    Z = dense(X)
    penalty = np.ones(Z.shape[1])
    if not (geometry.affine or geometry.constant):
        return Z, penalty
    size = math.sqrt(geometry.constant) or 1.0
    Z = np.hstack([Z, np.full((len(Z), 1), size)])
    return Z, np.append(penalty, 0.0 if geometry.affine else 1.0)


def decision_of(multi_class: str) -> Decision:
    """Return what the values are of for this parameter."""
    kinds = {"ovo": Decision.PAIRS, "ovr": Decision.CLASSES, "crammer_singer": Decision.JOINT}
    return kinds[multi_class]


def joint_expansions(coef: Array) -> list[tuple[Array, float]]:
    """Return the expansions of classes that one problem decides; two classes share one f."""
    if len(coef) == 2:
        return [(coef[1] - coef[0], 0.5)]  # bounded by twice the cost
    return [(each, 1.0) for each in coef]


def _sampled(X: Matrix, numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """Return all places, or where there are many rows some that are drawn, the same every time.

    They come with how many rows each stands for: of rare classes there are more than their share.
    """
    n = X.shape[0]
    stored = X.nnz if sparse.issparse(X) else X.size
    n_classes = int(numbers.max()) + 1
    most = min(_MOST_SAMPLES, _MOST_OF_CLASS * n_classes)
    most = min(most, max(_FEWEST_SAMPLES, _MOST_VALUES * n // max(1, stored)))
    if n <= most:
        return np.arange(n), np.ones(n)
    classes = [np.flatnonzero(numbers == k) for k in range(n_classes)]
    counts = np.array([len(rows) for rows in classes])
    shares = np.minimum(counts, np.maximum(most * counts // n, _FEWEST_OF_CLASS))
    drawn = [_thinned(rows, share) for rows, share in zip(classes, shares, strict=True)]
    places = np.sort(np.concatenate(drawn))
    return places, (counts / np.maximum(shares, 1))[numbers[places]]


def _thinned(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return so many of the places at most, one of each stretch, the same every time."""
    if len(places) <= most:
        return places
    ends = np.arange(most + 1) * len(places) // most
    inside = np.random.default_rng(0).random(most) * np.diff(ends)
    return places[ends[:-1] + inside.astype(np.intp)]
