"""The tables of docs/from-scikit-learn.md have every parameter, and "same" is the same default."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.svm

import maxmargin

PAGE = Path(__file__).resolve().parent.parent / "docs" / "from-scikit-learn.md"


def rows(section):
    """The rows of the table of a section, as pairs of cells."""
    text = (
        PAGE.read_text(encoding="utf-8").partition(f"\n### {section}\n")[2].partition("\n### ")[0]
    )
    lines = (line.split("|") for line in text.splitlines() if line.startswith("| "))
    return [(cells[1].strip(), cells[2].strip()) for cells in lines][1:]


def names(cell):
    return set(re.findall(r"`(\w+)(?:=\w+)?`", cell))


def told(section, estimator):
    """The parameters that the table tells for one of the estimators of its heading."""
    found = set()
    for name, text in rows(section):
        for part in re.split(r"[;,] (?=`)", name):
            only = re.search(r"\(([^)]*)\)", part)
            if not only or estimator in names(only[1]):
                found |= names(re.sub(r"\(.*\)", "", part))
        if name == "ours":
            for part in text.split("; "):
                whose = re.match(r"`(\w+)`: ", part)
                if not whose or whose[1] == estimator:
                    found |= names(part) - {estimator}
    return found


@pytest.mark.parametrize(
    ("section", "estimator"),
    [
        ("SVC and NuSVC", "SVC"),
        ("SVC and NuSVC", "NuSVC"),
        ("SVR, NuSVR and OneClassSVM", "SVR"),
        ("SVR, NuSVR and OneClassSVM", "NuSVR"),
        ("SVR, NuSVR and OneClassSVM", "OneClassSVM"),
        ("LinearSVC", "LinearSVC"),
    ],
)
def test_every_parameter_is_in_the_table(section, estimator):
    ours = set(inspect.signature(getattr(maxmargin, estimator)).parameters)
    assert told(section, estimator) == ours


SAME = [
    (estimator, parameter)
    for section, estimators in (
        ("SVC and NuSVC", ("SVC", "NuSVC")),
        ("SVR, NuSVR and OneClassSVM", ("SVR", "NuSVR", "OneClassSVM")),
        ("LinearSVC", ("LinearSVC",)),
        ("LinearSVR", ("LinearSVR",)),
    )
    for name, text in rows(section)
    if text.startswith("same")
    for estimator in estimators
    for parameter in sorted(names(name))
    if parameter in inspect.signature(getattr(sklearn.svm, estimator)).parameters
]


@pytest.mark.parametrize(("estimator", "parameter"), SAME)
def test_what_is_called_the_same_has_the_same_default(estimator, parameter):
    ours, theirs = (
        inspect.signature(getattr(package, estimator)).parameters[parameter].default
        for package in (maxmargin, sklearn.svm)
    )
    assert ours == theirs


def test_there_are_rows_to_compare():
    assert len(SAME) > 25
