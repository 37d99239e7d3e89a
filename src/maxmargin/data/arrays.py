"""Arrays of rows and targets, as the core reads them: dtype, order, storage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import maxmargin._core as _core

Array: TypeAlias = NDArray[np.float64]

#: A C-ordered float32 or float64 array, or a CSR matrix or array of such values.
Matrix: TypeAlias = Any

MAX_ROWS = 2**31 - 1

#: Half of the distance from 1 to the next double.
UNIT = 2.0**-53

#: Share of non-zeros below which CSR rows are faster than dense ones.
SPARSE = 0.25

_REAL = "X must hold real numbers: give real and imaginary parts as columns of their own."

_SHAPES = (
    ("inconsistent numbers of samples", "X must have a row, and y a label or target, a sample."),
    (
        "Found array with",
        "X must have two dimensions, a row for each sample and a column for each feature, and at"
        " least one of both.",
    ),
)


@contextmanager
def explaining(X: Any, y: Any = None) -> Iterator[None]:
    """Add to scikit-learn's errors about X and y which value is meant, and what would do."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text, remedy = str(error), ""
        if text.startswith(("could not convert", "float() argument")):
            remedy = (
                "y must hold numbers; for labels there are the classifiers."
                if _numeric(X)
                else "X must hold numbers: encode words with sklearn.preprocessing.OneHotEncoder,"
                " texts with sklearn.feature_extraction.text.TfidfVectorizer; a number that is"
                " missing is np.nan."
            )
        elif "contains NaN" in text or "contains infinity" in text:
            remedy = _first_bad(y if "Input y" in text else X)
        elif text.startswith("Complex data"):
            text, remedy = text.splitlines()[0], _REAL  # what follows is all of X
        else:
            remedy = next((advice for message, advice in _SHAPES if message in text), "")
        if not remedy:
            raise
        raise type(error)(f"{text.rstrip()}\n{remedy}") from None


def _numeric(X: Any) -> bool:
    try:
        np.asarray(X.tocsr().data if sparse.issparse(X) else X, dtype=np.float64)
    except (ValueError, TypeError):
        return False
    return True


def _first_bad(values: Any) -> str:
    """Say where the first value is that is not finite, and what to do about it."""
    if not _numeric(values):
        return ""
    stored: Any = values.tocsr() if sparse.issparse(values) else np.asarray(values, np.float64)
    flat = stored.data if sparse.issparse(values) else stored.ravel()
    bad = np.flatnonzero(~np.isfinite(flat))
    if len(bad) == 0:
        return ""
    first = int(bad[0])
    if sparse.issparse(values):
        row, column = np.searchsorted(stored.indptr, first, "right") - 1, stored.indices[first]
    else:
        row, column = divmod(first, max(1, stored.size // len(stored)))
    where = f"row {row}, column {column}" if stored.ndim == 2 else f"position {first}"
    remedy = (
        "fill in what is missing (sklearn.impute.SimpleImputer)"
        if np.isnan(flat[first])
        else "clip such values (numpy.clip)"
    )
    return (
        f"The first such value is {flat[first]} at {where} ({len(bad)} in all). Leave such samples"
        f" out, or {remedy}."
    )


def plain_rows(X: Any) -> bool:
    """Whether X is an array or a CSR matrix that can be read as it is."""
    dense = type(X) is np.ndarray and X.flags.c_contiguous
    stored = dense or (sparse.issparse(X) and X.format == "csr")
    return stored and X.ndim == 2 and min(X.shape) > 0 and X.dtype in (np.float64, np.float32)


def plain_targets(y: Any, n_samples: int) -> bool:
    """Whether y is an array of so many numbers."""
    if type(y) is not np.ndarray or y.shape != (n_samples,) or y.dtype.kind not in "fiub":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def view_rows(X: Matrix) -> tuple[Matrix, _core.Rows]:
    """X as the core reads it, in place if it can be, else a copy; and the view of it.

    A CSR matrix with unsorted or repeated columns is copied and put in order; one whose two index
    arrays differ in type, as some writers leave it, gets both in the wider one; parts that are
    views with gaps are copied.
    """
    if X.shape[0] > MAX_ROWS:
        raise ValueError(f"X has {X.shape[0]} rows; at most {MAX_ROWS} are supported.")
    if not sparse.issparse(X):
        X = np.require(X, requirements=("C", "A"))
        return X, _core.Rows(X)
    index = np.promote_types(np.promote_types(X.indices.dtype, X.indptr.dtype), np.int32)
    given, types = (X.data, X.indices, X.indptr), (X.dtype, index, index)
    parts = tuple(
        np.require(part, kind, ("C", "A")) for part, kind in zip(given, types, strict=True)
    )
    if any(part is not own for part, own in zip(parts, given, strict=True)):
        X = type(X)(parts, shape=X.shape, copy=False)
    try:  # not X.has_canonical_format: SciPy remembers it from before the arrays were exchanged
        return X, _core.Rows(X.data, X.indices, X.indptr, X.shape[1])
    except ValueError:
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=True)
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"X of shape {X.shape} is not a valid CSR matrix: {error}. Build it again from"
                " rows, columns and values (scipy.sparse.coo_array)."
            ) from None
        X.sum_duplicates()
        return X, _core.Rows(X.data, X.indices, X.indptr, X.shape[1])


def mostly_zero(X: Array) -> bool:
    """Whether few of the values of a dense X are not 0, by some of the rows."""
    some = X[:: max(1, X.shape[0] // 256)]
    return bool(np.count_nonzero(some) < SPARSE * some.size)
