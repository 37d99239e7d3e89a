"""Probabilities of several classes from those of pairs."""

import numpy as np
from numpy.testing import assert_allclose

from maxmargin.calibration.several_classes import coupled, with_winners_ahead


def test_coupling_gives_back_what_pairs_agree_on():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    first, second = np.triu_indices(4, 1)
    assert_allclose(coupled((p[first] / (p[first] + p[second]))[np.newaxis], 4)[0], p, atol=1e-9)


def test_a_winner_shares_with_those_above_it():
    P = with_winners_ahead(np.array([[0.5, 0.4, 0.1], [0.2, 0.5, 0.3]]), np.array([2, 1]))
    assert_allclose(P, [[1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3]], atol=1e-9)
    assert P.argmax(axis=1).tolist() == [2, 1]
    P = with_winners_ahead(np.array([[0.6, 0.3, 0.1]]), np.array([1]))
    assert_allclose(P, [[0.45, 0.45, 0.1]], atol=1e-9)
    assert P.argmax() == 1
