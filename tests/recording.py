"""Functions that keep what they are called with."""


def recording(function):
    """Return `function` with a list of the arguments of its calls; and that list."""
    calls = []

    def recorded(*args, **named):
        calls.append(args)
        return function(*args, **named)

    return recorded, calls
