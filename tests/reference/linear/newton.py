"""Gradient, Hessian and Newton direction in NumPy: the specification of core/linear/newton.hpp.

    min over w of ½‖w‖² + Σ ψ_i(z_i),   z = Xw + bias,
    ψ_i(z) = max over β of conjugate_i(β) − z β − softness_i/2 (β − centre_i)²

β_i(z) is piecewise linear, so the Hessian sums x x' over the rows in a sloped piece.
"""

import numpy as np


class Proximal:
    def __init__(self, objective, feature, anchor, centre, softness):
        problem, loss = objective.problem, objective.loss
        self.X = np.c_[problem.X, np.full(problem.n_samples, feature)]
        self.y, self.cost, self.loss = problem.y, problem.cost, loss
        self.lower, self.upper, self.curvature = loss.box(self.y, self.cost)
        self.anchor, self.centre = anchor, centre
        self.soft = np.zeros_like(self.cost)
        if loss.bounded:
            np.divide(softness, self.cost, out=self.soft, where=self.cost > 0)

    def z(self, w):
        return self.X @ w + self.anchor

    def beta(self, z):
        """The maximiser, and which rows are in a sloped piece."""
        stiffness = self.curvature + self.soft
        pull = self.y - z + self.soft * self.centre
        beta = np.sign(pull) * np.maximum(0.0, np.abs(pull) - self.loss.epsilon)
        beta = np.divide(beta, stiffness, out=np.zeros_like(beta), where=stiffness > 0)
        beta = np.clip(beta, self.lower, self.upper)
        return beta, (beta != 0) & (beta > self.lower) & (beta < self.upper)

    def gradient(self, w):
        return w - self.X.T @ self.beta(self.z(w))[0]

    def hessian(self, w):
        sloped = self.beta(self.z(w))[1]
        X, stiffness = self.X[sloped], (self.curvature + self.soft)[sloped]
        return np.eye(len(w)) + X.T @ (X / stiffness[:, None])

    def direction(self, w):
        """The Newton direction."""
        return -np.linalg.solve(self.hessian(w), self.gradient(w))
