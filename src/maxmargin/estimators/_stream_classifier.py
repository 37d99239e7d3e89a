"""Classifiers that learn from a stream: batches that come one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from maxmargin.data.arrays import Array, Matrix, view_rows
from maxmargin.data.targets import (
    class_costs,
    class_labels,
    class_numbers,
    sample_costs,
)
from maxmargin.estimators._base import (
    unchanged_on_failure,
)
from maxmargin.estimators._checks import check_parameters
from maxmargin.estimators._kernel import KernelBase
from maxmargin.estimators._linear import LinearModel
from maxmargin.estimators._linear_predictions import LinearClassifier
from maxmargin.kernels import Kernel
from maxmargin.multiclass.decomposition import collapsed
from maxmargin.solution import Solution
from maxmargin.solvers.stochastic.kernel_pegasos import KernelPegasos, KernelPegasosStream
from maxmargin.solvers.stochastic.pegasos import Pegasos
from maxmargin.solvers.stochastic.pegasos_stream import ClassPegasosStream, PegasosStream


class StreamClassifier(LinearClassifier, LinearModel, KernelBase):
    """What goes on from batch to batch, one stream for each problem."""

    t_: int
    _streams: list[PegasosStream]
    _steps_before: int
    _fitted_kernel: Kernel | None

    @property
    def solver(self) -> Pegasos:
        """The settings as a Solver."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take one pass over a batch, on from `fit` if it was called.

        Otherwise the first call must name all `classes`. What the problem is must not change within
        a stream. A batch that fails leaves the estimator as it was.
        """
        with unchanged_on_failure(self):
            self._take_batch(X, y, classes, sample_weight)
        return self

    def _take_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        check_parameters(self)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} counts the samples of each class, and a batch"
                " does not have all. Give a dict of factors:"
                " sklearn.utils.class_weight.compute_class_weight makes them of a sample."
            )
        first = not getattr(self, "_streams", [])
        self._refuse_changes()
        X, y = self._check_rows(X, y, reset=first and not hasattr(self, "solutions_"))
        class_labels(y)  # refuses invalid labels
        weight = sample_costs(X, 1.0, None, sample_weight)
        fitted = getattr(self, "solutions_", ())
        if first:
            self.classes_ = self._stream_classes(y, classes, fitted=bool(fitted))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the labels {self.classes_.tolist()} that this"
                " model knows. Clone it to start afresh."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes that this"
                f" model knows: {self.classes_.tolist()}."
            )
        weight = class_costs(weight, self.class_weight, self.classes_, y)
        if not weight.any():
            raise ValueError(
                "sample_weight times class_weight is zero for every sample of this batch, so there"
                " is nothing to learn from it. Leave the batch out."
            )
        if first:
            self._open_streams(X, weight, fitted)
            self._keep_parameters()
        X, _ = view_rows(X)
        self._streams = [
            copy(stream) for stream in self._streams
        ]  # those that stay if a step fails
        if self._alike and not _all_alike(X):
            self._refit_kernel(X, weight)
        for target, stream in zip(self._stream_targets(y), self._streams, strict=True):
            stream.step(X, target, weight)
        self._store_streams([stream.point() for stream in self._streams])
        self.n_iter_ += 1
        self.t_ = self._steps_before + self._streams[0].t

    def _keep_parameters(self) -> None:
        """Remember what the problem is; a dict may be changed in place."""
        given = {name: getattr(self, name) for name in _OF_STREAM}
        self._stream_params = {
            name: dict(value) if isinstance(value, dict) else value for name, value in given.items()
        }

    def _refit_kernel(self, X: Matrix, weight: Array) -> None:
        """Apply rules such as gamma="scale" to the first rows that are not all equal."""
        self._alike = False
        self._fitted_kernel = self._kernel(X, weight / weight.max())
        for stream in self._streams:
            assert isinstance(stream, KernelPegasosStream)
            stream.kernel = self._fitted_kernel

    def _refuse_changes(self) -> None:
        """Refuse to go on with another problem or another average than fit or the stream began."""
        for name, old in getattr(self, "_stream_params", {}).items():
            new = getattr(self, name)
            if new is not old and not (isinstance(new, type(old)) and new == old):
                raise ValueError(
                    f"{name}={new!r} differs from {name}={old!r}, with which this stream began. Set"
                    " it back, call fit, or begin with a new estimator (sklearn.base.clone)."
                )

    def _stream_targets(self, y: NDArray[Any]) -> list[Array]:
        """±1 for each binary problem, or the numbers of the classes for the one of all."""
        if isinstance(self._streams[0], ClassPegasosStream):
            return [class_numbers(self.classes_, y).astype(np.float64)]
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return [np.where(y == positive, 1.0, -1.0) for positive in positives]

    def _store_streams(self, points: list[tuple[Array, Any]]) -> None:
        """Keep what prediction needs; each stream with a kernel has support vectors of its own."""
        if isinstance(self._streams[0], ClassPegasosStream):
            self.coef_, self.intercept_ = collapsed(*points[0])
            return
        weights = [w for w, _ in points]
        self.intercept_ = np.array([b for _, b in points])
        supports: list[Any] = [
            stream.support for stream in self._streams if isinstance(stream, KernelPegasosStream)
        ]
        if not supports:
            self.coef_ = np.stack(weights)
            return
        stack = sparse.vstack if any(map(sparse.issparse, supports)) else np.concatenate
        self.support_vectors_ = view_rows(stack(supports))[0]
        self.dual_coef_ = np.asarray(sparse.block_diag([w[np.newaxis] for w in weights]).toarray())

    def _open_streams(self, X: Matrix, weight: Array, fitted: Sequence[Solution]) -> None:
        """One stream for each binary problem, at 0 or where `fit` ended."""
        one = self._joint or len(self.classes_) == 2
        seeds = check_random_state(self.random_state).randint(
            2**31, size=1 if one else len(self.classes_)
        )
        common = {
            "loss": self._loss(),
            "intercept": self._intercept(),
            "intercept_scaling": self._scaling(),
        }
        options = [common | {"seed": int(seed)} for seed in seeds]
        opened = self._linear_streams if self._linear else self._kernel_streams
        self._alike = not (self._linear or fitted) and _all_alike(X)
        self._streams = opened(X, weight, options, fitted)
        self._steps_before = self.t_ if fitted else 0
        self.n_iter_ = self.n_iter_ if fitted else 0
        self._forget("solutions_", "bound_")

    def _linear_streams(
        self, X: Matrix, weight: Array, options: list[dict[str, Any]], fitted: Sequence[Any]
    ) -> list[PegasosStream]:
        del weight
        settings = X.shape[1], self._lam(), self.solver
        streams: list[PegasosStream]
        if self._joint:
            streams = [ClassPegasosStream(len(self.classes_), *settings, **options[0])]
        else:
            streams = [PegasosStream(*settings, **option) for option in options]
        for stream, solution in zip(streams, fitted, strict=False):
            stream.resume(solution.w, solution.b, self._stream_steps(solution))
        return streams

    def _kernel_streams(
        self, X: Matrix, weight: Array, options: list[dict[str, Any]], fitted: Sequence[Any]
    ) -> list[PegasosStream]:
        self._check_kernel()
        if not fitted:
            self._fitted_kernel = self._kernel(X, weight / weight.max())
        kernel, solver = self._fitted_kernel, self.solver
        assert isinstance(solver, KernelPegasos)
        assert kernel is not None
        streams: list[PegasosStream] = []
        for row, option in enumerate(options):
            stream = KernelPegasosStream(kernel, self._lam(), solver, self.max_support, **option)
            if fitted:
                used = np.flatnonzero(self.dual_coef_[row])
                support, coef = self.support_vectors_[used], self.dual_coef_[row, used]
                stream.resume_at(support, coef, fitted[row].b, self._stream_steps(fitted[row]))
            streams.append(stream)
        return streams

    def _stream_steps(self, solution: Solution) -> int:
        """Count the steps in which a stream would have met as many samples as `fit` did."""
        taken = self.solver.rows_a_step(len(solution.beta)) if self.batch_size is None else 1
        return solution.info.steps * taken

    def _stream_classes(self, y: Any, classes: Any, *, fitted: bool) -> NDArray[Any]:
        """Return the labels that the stream will bring."""
        if fitted and classes is None:
            classes = self.classes_
        if classes is None:
            raise ValueError(
                "The first call to partial_fit needs classes=, the list of all labels that the"
                f" stream will bring; this batch has {np.unique(y).tolist()}."
            )
        classes = np.unique(classes)
        if len(classes) < 2:
            raise ValueError(f"classes must name at least two labels, got {classes.tolist()}.")
        if fitted and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes={classes.tolist()} differs from the labels {self.classes_.tolist()} that"
                " fit saw. Clone the estimator to start afresh."
            )
        return np.asarray(classes)


#: Parameters that a stream keeps from its first batch to its last.
_OF_STREAM = (
    "lam", "loss", "sampling", "batch_size", "projection", "averaging", "kernel", "degree", "gamma",
    "coef0", "max_support", "multi_class", "class_weight", "fit_intercept", "penalized_intercept",
    "intercept_scaling",
)  # fmt: skip


def _all_alike(X: Matrix) -> bool:
    """Whether all rows are equal, so that no rule for gamma can see a spread."""
    return not (abs(X - X[[0] * X.shape[0]])).max() > 0.0
