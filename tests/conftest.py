from hypothesis import settings

# Derandomised, so that a failure is the change's fault and not the day's; no deadline, because the
# first example pays for imports and machines differ.
settings.register_profile("maxmargin", derandomize=True, deadline=None)
settings.load_profile("maxmargin")
