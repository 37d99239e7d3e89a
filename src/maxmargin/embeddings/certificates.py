"""What is proven about a linear machine in an embedding, and about the kernel machine it is near.

The certificate of the linear problem is exact for that problem: it says nothing of another
embedding, nor of the kernel itself. Those that are made of kernel values have images in the feature
space of the kernel, so that f is a kernel expansion, and the dual point of the linear problem is
feasible for that of the kernel machine: `exact_bounds` evaluates both there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from maxmargin.certificate import Certificate, Status, relative
from maxmargin.data.arrays import Array, Matrix
from maxmargin.embeddings._sums import kernel_sums, own_sums
from maxmargin.kernels import Kernel, mercer_check
from maxmargin.losses import Loss
from maxmargin.objectives.rounding import expansion_error

#: Kernel values of a pass that is made without asking: about a minute on two cores.
MAX_VALUES = 2e10

#: Rows of a sample at least, and standard errors of a 95 % interval.
_LEAST_SAMPLE, _INTERVAL = 200, 1.96

#: Mixtures of two functions that are evaluated for the best one.
_MIXTURES = 12


@dataclass(frozen=True)
class EmbeddedCertificate(Certificate):
    """The certificate of a linear problem, with the name of the space in which it was posed."""

    space: str = "this embedding"

    @classmethod
    def of(cls, certificate: Certificate, space: str) -> EmbeddedCertificate:
        """Return the same numbers with the name of the space."""
        return cls(**(certificate.__dict__ | {"space": space}))

    def with_status(self, status: Status) -> EmbeddedCertificate:
        """Return the same numbers under another status."""
        return replace(self, status=status)

    def sentence(self) -> str:
        """Say in words what is proven, and where."""
        return f"{super().sentence()}, in {self.space}"


@dataclass(frozen=True)
class ExactCertificate:
    """Bounds of the kernel machine that an approximation is near.

    Attributes
    ----------
    primal : float
        The value of the fitted f in the exact problem, its norm that of the kernel's own space.
    dual : float
        A lower bound of the exact optimum: the best multiple of the approximation's dual point.
    upper : float
        An upper bound of the exact optimum: the least value of f, of the expansion that the dual
        point stands for, and of mixtures of both. At most `primal`.
    gap, relative_gap : float
        primal − dual, and its share of the dual bound: f exceeds the optimum by at most this.
    n_problems : int
        More than 1 for the sum of several problems.
    """

    primal: float
    dual: float
    upper: float
    gap: float
    relative_gap: float
    n_problems: int = 1

    def sentence(self) -> str:
        """Say in words what is proven."""
        if not math.isfinite(self.relative_gap):
            return "nothing proven about the exact problem"
        return (
            f"objective of the exact problem proven within {100.0 * self.relative_gap:.2g} % of its"
            f" optimum, which lies between {self.dual:.6g} and {self.upper:.6g}"
        )

    def __str__(self) -> str:
        return self.sentence()


@dataclass(frozen=True)
class ExactEstimate:
    """Estimates of the same from a sample of the rows: nothing is proven.

    `primal` and `dual` are estimates, `primal_interval` and `dual_interval` 95 % intervals, each
    (low, high); `n_sampled` rows were drawn.
    """

    primal: float
    dual: float
    primal_interval: tuple[float, float]
    dual_interval: tuple[float, float]
    n_sampled: int
    n_problems: int = 1

    @property
    def relative_gap(self) -> float:
        """The estimated gap as a share of the estimated dual bound."""
        return relative(max(0.0, self.primal - self.dual), self.dual)

    def sentence(self) -> str:
        """Say in words what is estimated."""
        low, high = self.primal_interval
        below, above = self.dual_interval
        return (
            f"an estimate from {self.n_sampled:,} rows, no proof: primal {self.primal:.6g}"
            f" ({low:.6g} to {high:.6g}), dual {self.dual:.6g} ({below:.6g} to {above:.6g})"
        )

    def __str__(self) -> str:
        return self.sentence()


class Approximation(NamedTuple):
    """One problem with its approximate answer: f = Σ coef_j k(basis_j, ·) + b, and β.

    Targets, costs and β are those of the rows of X that it has.
    """

    rows: NDArray[np.intp]
    target: Array
    cost: Array
    beta: Array
    coef: Array
    b: float


@dataclass(frozen=True)
class ExactProblem:
    """What the problems share: kernel, samples, landmarks, a bounded loss, a free intercept."""

    kernel: Kernel
    X: Matrix
    basis: Matrix
    loss: Loss
    free: bool
    n_jobs: int | None = None

    def of_landmarks(self, rows: NDArray[np.intp], coef: Array) -> Array:
        """Σ_j coef_jp k(basis_j, x_i) for some rows and every problem, in float64."""
        return kernel_sums(self.kernel, self.X[rows], self.basis, coef, self.n_jobs)

    def of_dual(self, rows: NDArray[np.intp], betas: Array) -> Array:
        """Σ_j β_jp k(x_j, x_i) for some rows and every problem; β has all rows."""
        support = np.flatnonzero(betas.any(axis=1))
        if len(rows) < len(betas):
            some = self.X[rows], self.X[support]
            return kernel_sums(self.kernel, *some, betas[support], self.n_jobs)
        out, rest = np.zeros(betas.shape), np.setdiff1d(rows, support, assume_unique=True)
        basis, weights = self.X[support], betas[support]
        out[support] = own_sums(self.kernel, basis, weights, self.n_jobs)
        out[rest] = kernel_sums(self.kernel, self.X[rest], basis, weights, self.n_jobs)
        return out

    def value_error(self, coef: Array, samples: Matrix, square: float) -> float:
        """Bound the rounding error of such a sum."""
        longest = self.kernel.diagonal(self.X).max(initial=0.0)
        sizes = np.append(self.kernel.diagonal(samples), longest)
        error = expansion_error(np.append(coef, 0.0), sizes, square, self.kernel.rounding(self.X))
        return 4.0 * error.spread


def exact_bounds(
    exact: ExactProblem, found: Sequence[Approximation], max_values: float = MAX_VALUES
) -> ExactCertificate | ExactEstimate:
    """Judge the approximations in the exact problems, in one pass over the rows.

    If that takes more than `max_values` kernel values, a sample of the rows gives an estimate.
    """
    _refuse_indefinite(exact.kernel, exact.X)
    found = [one._replace(beta=feasible(one, exact)) for one in found]
    n = exact.X.shape[0]
    betas = np.zeros((n, len(found)))
    for place, one in enumerate(found):
        betas[one.rows, place] = one.beta
    drawn = _rows_within(max_values, n, exact.basis.shape[0], int(betas.any(axis=1).sum()))
    coef = np.stack([one.coef for one in found], axis=1)
    own, dual = exact.of_landmarks(drawn, coef), exact.of_dual(drawn, betas)
    K = exact.kernel(exact.basis, exact.basis)
    squares = np.einsum("ip,ij,jp->p", coef, K, coef, optimize=True)
    if len(drawn) < n:
        return _estimated(exact, found, drawn, (own, dual, squares))
    parts = []
    for place, one in enumerate(found):
        values = own[one.rows, place], dual[one.rows, place]
        parts.append(_certified(exact, one, values, float(squares[place])))
    primal, lower, upper = (sum(column) for column in zip(*parts, strict=True))
    gap = max(0.0, primal - lower)
    return ExactCertificate(primal, lower, upper, gap, relative(gap, lower), len(found))


def _rows_within(max_values: float, n: int, n_landmarks: int, n_support: int) -> NDArray[np.intp]:
    """Return all rows, or as many at random as leave the kernel values within the limit."""
    width = n_landmarks + n_support
    if n * width - n_support**2 // 2 <= max_values:  # of two support vectors, one value
        return np.arange(n)
    size = max(_LEAST_SAMPLE, int(max_values / width))
    return np.sort(np.random.default_rng(0).choice(n, min(n, size), replace=False))


def _refuse_indefinite(kernel: Kernel, X: Matrix) -> None:
    """Refuse a kernel for which the dual value bounds nothing, as far as samples show it."""
    doubtful = not kernel.mercer and X.dtype.kind == "f"
    if kernel.mercer is False or (doubtful and not mercer_check(kernel, X).passed):
        raise ValueError(f"{kernel!r} is not positive semidefinite: there is no dual bound.")


def feasible(one: Approximation, exact: ExactProblem) -> Array:
    """Return β inside its box, and with Σ β = 0 if the intercept is free."""
    beta = np.clip(one.beta, -one.cost, one.cost)
    if exact.loss.one_sided:
        beta = np.where(one.target * beta > 0.0, beta, 0.0)
    if not exact.free:
        return beta
    up, down = float(beta.sum(where=beta > 0.0)), -float(beta.sum(where=beta < 0.0))
    if min(up, down) == 0.0:
        return np.zeros_like(beta)
    heavy = beta > 0.0 if up > down else beta < 0.0
    return np.where(heavy, beta * (min(up, down) / max(up, down)), beta)


def _certified(
    exact: ExactProblem, one: Approximation, values: tuple[Array, Array], square: float
) -> tuple[float, float, float]:
    """Return primal, dual and upper bound of one problem, rounding allowed for."""
    own, dual = values
    used = np.flatnonzero(one.beta)
    error = exact.value_error(one.coef, exact.basis, square)
    cost = float(one.cost.sum())
    primal = 0.5 * square + _losses(exact.loss, one, own + one.b)
    primal += error * (cost + float(np.abs(one.coef).sum()))
    if len(used) == 0:
        return primal, 0.0, primal
    norm = max(0.0, float(one.beta @ dual))
    off = exact.value_error(one.beta[used], exact.X[one.rows[used]], norm)
    mass = float(np.abs(one.beta).sum())
    scale, lower = _best_multiple(exact.loss, one, norm + off * mass)
    # Σ β = 0 up to rounding: one β takes up what is left
    reach = float(np.abs(one.target).max()) + scale * float(np.abs(dual).max())
    lower -= 2.0 * abs(scale * float(one.beta.sum())) * reach if exact.free else 0.0
    cross = float(one.beta @ own)
    mixed = _best_mixture(exact, one, (own, scale * dual), (square, scale * cross, scale**2 * norm))
    upper = mixed + (error + scale * off) * (cost + float(np.abs(one.coef).sum()) + scale * mass)
    return primal, max(0.0, lower), min(primal, upper)


def _losses(loss: Loss, one: Approximation, z: Array) -> float:
    return float(loss.value(one.target, one.cost, z).sum())


def _best_multiple(loss: Loss, one: Approximation, norm: float) -> tuple[float, float]:
    """Return the s for which D(sβ) = s L − ½ s² norm is largest within the box, and that value."""
    size = np.abs(one.beta)
    linear = float(one.target @ one.beta) - loss.epsilon * float(size.sum())
    most = (1.0 - 1e-12) * float(np.min(one.cost[size > 0.0] / size[size > 0.0]))
    scale = min(most, linear / norm) if norm > 0.0 else most
    scale = max(0.0, scale)
    return scale, scale * linear - 0.5 * scale**2 * norm


def _best_mixture(
    exact: ExactProblem,
    one: Approximation,
    values: tuple[Array, Array],
    products: tuple[float, float, float],
) -> float:
    """Return the least value of (1 − t) f + t g + b over t in [0, 1] and b.

    `products` are ⟨f, f⟩, ⟨f, g⟩ and ⟨g, g⟩.
    """
    own, dual = values
    ff, fg, gg = products

    def value(t: float) -> float:
        z = (1.0 - t) * own + t * dual
        b = _best_intercept(exact.loss, one, z) if exact.free else 0.0
        square = (1.0 - t) ** 2 * ff + 2.0 * t * (1.0 - t) * fg + t**2 * gg
        return 0.5 * square + _losses(exact.loss, one, z + b)

    options = {"maxiter": _MIXTURES, "xatol": 1e-2}
    inner = minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options=options)
    return min(float(inner.fun), value(0.0), value(1.0))


def _best_intercept(loss: Loss, one: Approximation, z: Array) -> float:
    """Return the b for which Σ C_i ℓ(z_i + b) is least: a weighted quantile of its corners."""
    if loss.one_sided:
        corners, rises = one.target - z, one.cost
        slope = -float(one.cost.sum(where=one.target > 0.0))
    else:
        apart = one.target - z
        corners = np.concatenate([apart - loss.epsilon, apart + loss.epsilon])
        rises = np.concatenate([one.cost, one.cost])
        slope = -float(one.cost.sum())
    order = np.argsort(corners)
    reached = np.searchsorted(slope + np.cumsum(rises[order]), 0.0)
    return float(corners[order[min(int(reached), len(order) - 1)]])


def _estimated(
    exact: ExactProblem,
    found: Sequence[Approximation],
    drawn: NDArray[np.intp],
    values: tuple[Array, Array, Array],
) -> ExactEstimate:
    """Return what the drawn rows say about all of them."""
    own, dual, squares = values
    primal = lower = off_primal = off_lower = 0.0
    for place, one in enumerate(found):
        at = np.flatnonzero(np.isin(drawn, one.rows))
        rows = np.argsort(one.rows)[np.searchsorted(np.sort(one.rows), drawn[at])]
        losses = exact.loss.value(one.target[rows], one.cost[rows], own[at, place] + one.b)
        total, off = _total(losses, len(drawn), exact.X.shape[0])
        primal, off_primal = primal + 0.5 * float(squares[place]) + total, off_primal + off
        norm, off = _total(one.beta[rows] * dual[at, place], len(drawn), exact.X.shape[0])
        scale, bound = _best_multiple(exact.loss, one, max(0.0, norm))
        lower, off_lower = lower + bound, off_lower + 0.5 * scale**2 * off
    return ExactEstimate(
        primal,
        lower,
        (primal - off_primal, primal + off_primal),
        (lower - off_lower, lower + off_lower),
        len(drawn),
        len(found),
    )


def _total(values: Array, n_drawn: int, n: int) -> tuple[float, float]:
    """Return Σ over n rows, estimated from those drawn (others have 0), and half its interval."""
    mean = float(values.sum()) / n_drawn
    spread = max(0.0, float(values @ values) / n_drawn - mean**2) / (n_drawn - 1)
    return n * mean, _INTERVAL * n * math.sqrt(spread * (1.0 - n_drawn / n))
