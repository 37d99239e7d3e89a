"""Stochastic solvers: Pegasos and SGD."""
