"""What the docstrings of several estimators say alike, entry by entry in numpydoc's form."""

from __future__ import annotations

import re
from textwrap import indent

_TEXT = """\
C : float, default=1.0
    Weight of the losses against ½‖w‖².
kernel : str, Kernel or callable, default="rbf"
    "linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "chi2", "histogram_intersection",
    "precomputed", a Kernel of `maxmargin.kernels`, or a function of two sets of samples, which
    gets them as they were given: texts, graphs, anything. `maxmargin.kernels.User(function)`
    is called with a few rows of an array at a time instead.
degree : int, default=3
    Of "poly".
gamma : float or {"scale", "auto", "median"}, default="scale"
    1/(d var X), 1/d, or 1 over the median squared distance. These rules are not for "chi2",
    which has γ = 1 with any of them.
coef0 : float, default=0.0
    Of "poly" and "sigmoid".
fit_intercept : bool, default=True
    Whether f has an intercept; it is not penalised.
intercept_scaling : float, default=1.0
    The constant feature whose weight a penalised intercept is.
shrinking : bool, default=True
    Accepted for scikit-learn's sake: the working set does what shrinking is for.
probability : bool, default="deprecated"
    Deprecated, as in scikit-learn. True: `fit` prepares `predict_proba`, which otherwise does
    so when it is first called.
tol : float, default=1e-3
    Relative duality gap to prove.
cache_size : float or None, default=None
    Megabytes for kernel rows, of all problems together; None: at most half of the free memory.
class_weight : dict, "balanced" or None, default=None
    Factors of C by class.
max_iter : int or None, default=-1
    Most working sets, steps of an interior-point method, or epochs; -1 or None: no limit.
max_time : float or None, default=None
    Most seconds, for all problems together.
warm_start : bool, default=False
    Whether to start from the last fit, scaled with the cost: to go on after a limit or Ctrl-C,
    or to follow a change of C. The problems must have the sizes they had.
decision_function_shape : {"ovr", "ovo"}, default="ovr"
    One column for each class, or where pairs are solved for each pair of classes.
break_ties : bool, default=False
    Whether `predict` breaks ties of votes by the decision values; not with "ovo".
n_jobs : int or None, default=None
    Threads: over the problems of several classes, or within one for its kernel values.
verbose : int, default=0
    1: one live line of progress on a terminal, a line for each gap check elsewhere.
support_ : ndarray of shape (n_SV,)
    Indices of the support vectors.
support_vectors_ : ndarray or CSR matrix of shape (n_SV, n_features)
    The support vectors; empty if the kernel is precomputed.
n_support_ : ndarray of int
    How many there are: of each class, or in all where there are no classes.
dual_coef_ : ndarray or CSR matrix of shape (n_problems, n_SV)
    β of the support vectors, in the layout of scikit-learn.
coef_ : ndarray or CSR matrix of shape (n_problems, n_features)
    The weights, with the linear kernel only.
intercept_ : ndarray of shape (n_problems,)
    The intercepts.
classes_ : ndarray
    The labels.
class_weight_ : ndarray of shape (n_classes,)
    The factors of C that `class_weight` stands for.
certificate_ : Certificate
    Primal, dual, gap, KKT violation, support vectors, margin; of the sum if several problems.
solutions_ : tuple of Solution
    Each problem's solution; `solution_` where there is only one.
history_ : list of Record
    (time, epoch, primal, dual, gap) at each gap check.
alpha_ : ndarray, or list of one for each problem
    α_i of every training sample.
slack_ : ndarray, or list of one for each problem
    ξ_i of every training sample, after `samples(X, y)`, which has a table of both.
n_iter_ : int or ndarray of shape (n_problems,)
    Working sets, steps or epochs.
fit_status_ : int
    0 if the gap is proven, 1 if not.
shape_fit_ : tuple of int
    The shape of the training data.
probA_ : ndarray of shape (0,)
    Deprecated as in scikit-learn, and empty: no probabilities come from Platt's formula.
probB_ : ndarray of shape (0,)
    As `probA_`.
"""

_ENTRIES = {entry.split()[0]: entry for entry in re.split(r"^(?=\S)", _TEXT, flags=re.M) if entry}


def entries(names: str) -> str:
    """Return those entries, to be put into a class's docstring."""
    return indent("".join(_ENTRIES[name] for name in names.split()), " " * 4).strip()


KERNEL = entries("kernel degree gamma coef0")
LIMITS = entries("max_iter max_time warm_start")
EXPANSION = entries("support_ support_vectors_ n_support_ dual_coef_ coef_ intercept_")
PROOF = entries("certificate_ solutions_ history_ alpha_ n_iter_ fit_status_ shape_fit_")

LINEAR_PARAMETERS = f"""\
dual : "auto" or bool, default="auto"
        Accepted for scikit-learn's sake: the solver looks at both problems, whatever it is.
    tol : float, default=1e-3
        Relative duality gap to prove: the objective is within this fraction of the optimum.
    C : float, default=1.0
        Weight of the losses against ½‖w‖². In classification `inf` asks for a hard margin, as for
        `SVC`: y_i f(x_i) ≥ 1 throughout, or a `NotSeparableError` with its witness. That is
        solved by SMO, whatever the solver given.
    fit_intercept : bool, default=True
        Whether f has an intercept b.
    {entries("intercept_scaling verbose")}
    random_state : int, RandomState or None, default=None
        Seeds the order of the samples.
    max_iter : int or None, default=10_000
        Most epochs or Newton steps; None or -1: no limit.
    penalized_intercept : bool, default=True
        Penalise b like a weight, as LIBLINEAR does. False leaves it free, as in `SVC`.
    lam : float or None, default=None
        If given, in the place of C, C = 1/(n_samples × lam): the λ of Pegasos. Weights count as
        repetitions.
    solver : str or Solver, default="auto"
        "auto" (see `maxmargin.solvers.auto`), "newton", "dual_cd", "pegasos", "sgd", "qp", or a
        Solver with settings of its own, `SGD(rule="adam")` for example. All solve the same problem.
    max_time : float or None, default=None
        Most seconds, for all classes together. A fit stopped early returns its best model, with a
        warning that has the gap.
    warm_start : bool, default=False
        Start where the last fit ended, if the number of samples and classes is the same."""

LINEAR_ATTRIBUTES = f"""\
coef_ : ndarray of shape (n_problems, n_features), or (n_features,) in regression
        The weights: one row, or one for each class where there are more than two.
    {entries("intercept_ certificate_ solutions_ history_")}
    support_ : ndarray
        Indices of the support vectors.
    {entries("alpha_ slack_")}
    n_iter_ : int
        Epochs or Newton steps."""
