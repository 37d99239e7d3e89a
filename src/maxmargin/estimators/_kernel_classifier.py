"""Kernel classifiers once they are fitted: coefficients by class, votes, predictions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.calibration.several_classes import Decision
from maxmargin.data.arrays import Array, Matrix
from maxmargin.estimators._checks import no_platt
from maxmargin.estimators._landmarks import LandmarkModel
from maxmargin.estimators._probability import (
    Geometry,
    ProbabilisticClassifier,
    decision_of,
    joint_expansions,
)
from maxmargin.kernels import Kernel
from maxmargin.multiclass.decomposition import (
    class_pairs,
    collapsed,
    votes,
)
from maxmargin.objectives.base import Intercept
from maxmargin.objectives.expansion import VALUES_PER_BLOCK


class KernelClassifier(ClassifierMixin, ProbabilisticClassifier, LandmarkModel):
    """f of every pair of classes, or every class, and what follows from it."""

    def _store(self, X: Matrix, members: list[NDArray[np.intp]], kernel: Kernel) -> None:
        """Lay the pairs' coefficients out as LIBSVM does: a row for each rival class."""
        sizes = [len(rows) for rows in members]
        ends = list(itertools.accumulate(sizes))
        coef = np.zeros((len(members) - 1, X.shape[0]))
        pairs = itertools.combinations(range(len(members)), 2)
        for (first, second), solution in zip(pairs, self.solutions_, strict=True):
            split = sizes[first]
            pair = solution.w / self._unit(solution)
            if len(members) == 2:  # it is in the order of X
                pair = pair[np.concatenate(members)]
            coef[second - 1, ends[first] - split : ends[first]] = pair[:split]
            coef[first, ends[second] - sizes[second] : ends[second]] = pair[split:]
        self._keep_support(X, members, coef, kernel)
        if len(members) == 2:  # scikit-learn's sign: positive for the second class
            self._keep_coef(-self._coef)
            self.intercept_ = -self.intercept_
            self._shift = -self._shift

    def _store_classes(self, X: Matrix, members: list[NDArray[np.intp]], kernel: Kernel) -> None:
        """Lay the coefficients out with a row for each class; of two, one for the second."""
        coef = np.vstack([solution.w for solution in self.solutions_])
        coef = collapsed(coef, np.zeros(len(coef)))[0]
        self._keep_support(X, members, coef[:, np.concatenate(members)], kernel)

    def _fitted_offsets(self) -> Array:
        if self.multi_class == "ovo":
            return super()._fitted_offsets()
        b = np.hstack([solution.b for solution in self.solutions_])
        return collapsed(b[:, np.newaxis], b)[1]

    def _keep_support(
        self, X: Matrix, members: list[NDArray[np.intp]], coef: Array, kernel: Kernel
    ) -> None:
        """Keep the support vectors; they and the columns of coef go class by class."""
        used = np.asarray(coef.any(axis=0))
        support = np.concatenate(members)[used].astype(np.int32)
        begins = [0, *itertools.accumulate(len(rows) for rows in members[:-1])]
        self._n_support = np.add.reduceat(used, begins, dtype=np.int32)
        self._finish(X, coef[:, used], support, kernel)

    def _coef_by_problem(self) -> Array:
        """Coefficients of all support vectors, one row for each pair of classes, or each class."""
        if not self._by_pairs or self._engine is not None:
            return self._coef
        ends = np.cumsum(self.n_support_)
        begins = ends - self.n_support_
        pairs = list(itertools.combinations(range(len(self.classes_)), 2))
        coef = np.zeros((len(pairs), len(self.support_)))
        for row, (first, second) in zip(coef, pairs, strict=True):
            one, two = slice(begins[first], ends[first]), slice(begins[second], ends[second])
            row[one], row[two] = self._coef[second - 1, one], self._coef[first, two]
        return coef

    def _values_by_problem(self, rows: Matrix) -> Array:
        """Return f of every row and every pair of classes, or every class."""
        if self._by_pairs:
            return np.concatenate(list(self._pair_values(rows)))
        return np.asarray(self._values_of_rows(rows, self._coef) + self._offsets)

    def _pair_values(self, rows: Matrix) -> Iterator[Array]:
        """Yield f of every pair of classes for some rows at a time, so that memory is bounded."""
        if self._engine is not None:
            yield np.asarray(self._values_of_rows(rows, self._coef) + self._offsets)
            return
        first, second = class_pairs(len(self.classes_))
        step = max(1, VALUES_PER_BLOCK // (2 * len(first)))
        for begin in range(0, rows.shape[0], step):
            some = rows[begin : begin + step]
            with self._blas_threads_for(some, len(self.support_)):
                by_class = self._sums(some, self._coef, self.n_support_)
            sums = by_class[:, first, second - 1] + by_class[:, second, first]
            yield np.asarray(sums + self._offsets)

    def decision_function(self, X: Any) -> Array:
        """Return f(x) for two classes, else one column for each class or pair.

        With `multi_class="ovo"` the column of a class has its votes, plus the sum of its values in
        the pairs squeezed below a third of a vote; else it is the class's own f.
        """
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        if self._by_pairs and self.decision_function_shape != "ovo":
            return self._scores(rows)
        values = self._values_by_problem(rows)
        return np.asarray(values[:, 0]) if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the most votes of the pairs, or the largest value of its class."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'. Give"
                " decision_function_shape='ovr' to break ties."
            )
        return self._labels(self._rows_to_predict(X))

    def _labels(self, rows: Matrix) -> NDArray[Any]:
        """Return the label of every row."""
        winners = [self._winners(values) for values in self._blocks(rows)]
        return np.asarray(self.classes_[np.concatenate(winners)])

    def _value_blocks(self, X: Any) -> Iterator[Array]:
        return self._blocks(self._rows_to_predict(X))

    def _training_blocks(self, X: Matrix) -> Iterator[Array]:
        return self._blocks(X)

    def _blocks(self, rows: Matrix) -> Iterator[Array]:
        """Yield f of every problem for some rows at a time."""
        if self._by_pairs:
            return self._pair_values(rows)
        return iter([self._values_by_problem(rows)])

    def _winners(self, values: Array) -> NDArray[np.intp]:
        if len(self.classes_) == 2:
            return (values[:, 0] >= 0.0).astype(np.intp)
        if not self._by_pairs:
            return np.asarray(values.argmax(axis=1))
        scores = votes(values, len(self.classes_))
        counts = scores if self.break_ties else np.rint(scores)
        return np.asarray(counts.argmax(axis=1))

    def _decision(self) -> Decision:
        return decision_of(self.multi_class)

    def _expansions(self) -> list[tuple[Array, float]]:
        if self.multi_class == "crammer_singer":
            return joint_expansions(self.solution_.w)
        sign = -1.0 if len(self.classes_) == 2 else 1.0  # a pair's f is positive for its first
        units = [(one, self._unit(one)) for one in self.solutions_]
        return [(sign * one.w / unit, unit) for one, unit in units]

    def _geometry(self) -> Geometry:
        return Geometry(self._fitted_kernel, self._intercept() is Intercept.FREE)

    @property
    def probA_(self) -> Array:  # noqa: N802
        """Empty: no probabilities come from Platt's formula."""
        return no_platt("probA_")

    @property
    def probB_(self) -> Array:  # noqa: N802
        """Empty, as `probA_`."""
        return no_platt("probB_")

    @property
    def _by_pairs(self) -> bool:
        """Whether pairs of classes decide: a class then has coefficients against its rivals."""
        if self._engine is not None:
            return len(self.classes_) > 2 and self._engine.multi_class == "ovo"
        return len(self.classes_) > 2 and len(self._coef) < len(self.classes_)

    def _scores(self, rows: Matrix) -> Array:
        """Return the votes for each class, with its values squeezed below a third of one."""
        n_classes = len(self.classes_)
        return np.concatenate([votes(values, n_classes) for values in self._pair_values(rows)])
