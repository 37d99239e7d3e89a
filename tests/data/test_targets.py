"""The labels of a problem, in the order that NumPy finds them."""

import numpy as np
import pytest

from maxmargin.data.targets import class_labels

LABELS = [
    bool, np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i4",
    np.float16, np.float32, np.float64, ">f8", np.longdouble,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [*LABELS, "U3"], ids=str)
@pytest.mark.parametrize("values", [[1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 1, 0, 0]], ids=str)
def test_two_labels_are_those_that_numpy_finds(values, dtype):
    y = np.array(values).astype(dtype)
    for view in (y, y[::-1], np.repeat(y, 2)[::2]):
        classes = class_labels(view)
        np.testing.assert_array_equal(classes, np.unique(y))
        assert classes.dtype == np.unique(y).dtype


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("place", [2, 4095, 4096, 4098, 9999])
def test_a_third_label_is_found_wherever_it_is(dtype, place):
    y = (np.arange(10_000) % 2).astype(dtype)
    y[place] = -3
    np.testing.assert_array_equal(class_labels(y), [-3, 0, 1])


def test_negative_labels_come_first():
    assert class_labels(np.array([3, -2, 3, -2])).tolist() == [-2, 3]
    assert class_labels(np.array([-0.0, 1.0, 0.0, 1.0])).tolist() == [0.0, 1.0]


def test_labels_out_of_line_in_memory():
    records = np.zeros(6, dtype=[("gap", "i1"), ("label", "f8")])
    records["label"] = [1.0, 2.0, 1.0, 2.0, 2.0, 1.0]
    assert not records["label"].flags.aligned
    np.testing.assert_array_equal(class_labels(records["label"]), [1.0, 2.0])
