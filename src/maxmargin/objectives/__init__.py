"""The problems that are solved: primal, dual, and what belongs to each kind."""
