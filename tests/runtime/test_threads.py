"""Tasks in threads: in order, and what they raise is raised."""

import pytest

from maxmargin.runtime.threads import in_threads


def test_threads_keep_the_order_of_the_tasks_and_raise_what_is_raised():
    assert in_threads(lambda task: task * task, range(50), 3) == [k * k for k in range(50)]
    seen = []

    def fail(task):
        seen.append(task)
        raise KeyError(task)

    with pytest.raises(KeyError):
        in_threads(fail, range(1000), 2)
    assert len(seen) <= 2
