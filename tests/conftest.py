import numpy as np
import pytest
from hypothesis import settings

# Derandomised, so that a failure is the change's fault and not the day's; no deadline, because the
# first example pays for imports and machines differ.
settings.register_profile("maxmargin", derandomize=True, deadline=None)
settings.load_profile("maxmargin")


@pytest.fixture(autouse=True)
def _seeded():
    """Estimators without random_state draw from NumPy's generator: the same numbers each day."""
    np.random.seed(0)  # noqa: NPY002
