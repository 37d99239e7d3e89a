"""Probabilities from decision values: leave-one-out scores, increasing maps, several classes."""
