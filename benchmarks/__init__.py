"""Benchmarks of maxmargin beside its peers: the same data, objective and machine for all."""
