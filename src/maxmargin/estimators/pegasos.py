"""PegasosClassifier: the lecture's algorithm, in one go or on a stream."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.estimators._base import LinearModel
from maxmargin.estimators.linear import LinearClassifier
from maxmargin.losses import CLASSIFICATION
from maxmargin.multiclass import binary_targets
from maxmargin.solvers.pegasos import Pegasos, PegasosStream
from maxmargin.validation import check_choice, check_positive, sample_costs, view_rows


class PegasosClassifier(LinearClassifier, LinearModel):
    """Linear SVM by Pegasos: stochastic subgradient steps of length 1/(λt).

    `fit` runs epochs until the gap is proven or `max_iter` is reached; `partial_fit` takes one pass
    over each batch of a stream. The objective is that of `LinearSVC(lam=lam)`, which also takes
    sample weights and reaches tight tolerances much faster.

    Parameters
    ----------
    lam : float, default=1e-4
        The regularisation λ of λ/2 ‖w‖² + mean loss.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss.
    sampling : {"shuffle", "uniform"}, default="shuffle"
        Epochs in a new order each, or independent uniform draws as in the theorem.
    batch_size : int, default=1
        Samples a step.
    projection : bool, default=False
        Keep w in the ball of radius 1/√λ.
    averaging : {"none", "uniform", "suffix", "weighted"}, default="suffix"
        Which mean of the iterates is the model.
    tol : float, default=1e-2
        Relative duality gap to prove.
    fit_intercept, penalized_intercept, intercept_scaling, max_iter, max_time, warm_start, n_jobs, \
random_state, verbose
        As for `LinearSVC`.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, solutions_, history_, support_, n_iter_
        As for `LinearSVC`. A stream is not kept, so after `partial_fit` there is no certificate.
    bound_ : float
        After `fit`: what the theory promises for the expected objective above the optimum, to be
        read beside `certificate_.gap`; infinite where the theorem does not apply.
    t_ : int
        Steps taken.
    """

    def __init__(
        self,
        lam: float = 1e-4,
        *,
        loss: str = "hinge",
        sampling: Literal["shuffle", "uniform"] = "shuffle",
        batch_size: int = 1,
        projection: bool = False,
        averaging: Literal["none", "uniform", "suffix", "weighted"] = "suffix",
        tol: float = 1e-2,
        fit_intercept: bool = True,
        penalized_intercept: bool = False,
        intercept_scaling: float = 1.0,
        max_iter: int | None = 1000,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.sampling = sampling
        self.batch_size = batch_size
        self.projection = projection
        self.averaging = averaging
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.penalized_intercept = penalized_intercept
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def solver(self) -> Pegasos:
        """The settings as a Solver."""
        return Pegasos(
            check_choice("sampling", self.sampling, ("shuffle", "uniform")),
            self.batch_size,
            self.projection,
            check_choice("averaging", self.averaging, ("none", "uniform", "suffix", "weighted")),
        )

    @with_callbacks
    def fit(self, X: Any, y: Any) -> PegasosClassifier:
        """Fit to the rows of X with labels y."""
        X, y = self._check_training(X, y)
        check_classification_targets(y)
        cost = sample_costs(X, None, self.lam, None)
        self.classes_, targets = binary_targets(y, cost)
        self._streams: list[PegasosStream] = []
        self._fit_targets(X, targets, [cost] * len(targets), self._loss())
        self.t_ = max(int(solution.notes["steps"]) for solution in self.solutions_)
        self.bound_ = sum(solution.notes["bound"] for solution in self.solutions_)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PegasosClassifier:
        """Take one pass over a batch, on from `fit` if it was called.

        Otherwise the first call must name all `classes`. λ is that of the first call.
        """
        first = not getattr(self, "_streams", [])
        X, y = self._check_rows(X, y, reset=first and not hasattr(self, "solutions_"))
        check_classification_targets(y)
        weight = sample_costs(X, 1.0, None, sample_weight)
        if first:
            self._open_streams(X.shape[1], y, classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differs from the labels {self.classes_.tolist()} that this"
                " model knows. Clone it to start anew."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes that this"
                f" model knows: {self.classes_.tolist()}."
            )
        X, _ = view_rows(X)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        for positive, stream in zip(positives, self._streams, strict=True):
            stream.step(X, np.where(y == positive, 1.0, -1.0), weight)
        points = [stream.point() for stream in self._streams]
        self.coef_ = np.stack([w for w, _ in points])
        self.intercept_ = np.array([b for _, b in points])
        self.n_iter_ += 1
        self.t_ = self._steps_before + self._streams[0].t
        return self

    def _open_streams(self, n_features: int, y: Any, classes: Any) -> None:
        """One stream for each binary problem, at 0 or where `fit` ended."""
        fitted = getattr(self, "solutions_", ())
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
                " fit saw. Clone the estimator to start anew."
            )
        self.classes_ = classes
        lam = check_positive("lam", self.lam, advice="C = 1/(n_samples * lam).")
        seeds = check_random_state(self.random_state).randint(
            2**31, size=1 if len(classes) == 2 else len(classes)
        )
        self._streams = [
            PegasosStream(
                n_features,
                lam,
                self.solver,
                self._loss(),
                self._intercept(),
                intercept_scaling=self.intercept_scaling,
                seed=int(seed),
            )
            for seed in seeds
        ]
        for stream, solution in zip(self._streams, fitted, strict=False):
            stream.resume(solution.w, solution.b, int(solution.notes["steps"]))
        self._steps_before = self.t_ if fitted else 0
        self.n_iter_ = self.n_iter_ if fitted else 0
        for stale in ("solutions_", "bound_"):
            self.__dict__.pop(stale, None)

    def _loss(self) -> Any:
        return CLASSIFICATION[check_choice("loss", self.loss, ("hinge", "squared_hinge"))]
