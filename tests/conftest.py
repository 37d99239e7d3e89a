import signal

import numpy as np
import pytest
from hypothesis import settings

# Derandomised, so that a failure is the change's fault and not the day's; no deadline, because the
# first example pays for imports and machines differ.
settings.register_profile("maxmargin", derandomize=True, deadline=None)
settings.load_profile("maxmargin")

# A shell without job control lets what it starts in the background ignore Ctrl-C, which some tests
# send to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _seeded():
    """Estimators without random_state draw from NumPy's generator: the same numbers each day."""
    np.random.seed(0)  # noqa: NPY002
