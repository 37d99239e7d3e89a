import doctest
import importlib

import pytest

MODULES = (
    "embeddings.nystroem",
    "embeddings.fourier",
    "embeddings.kernel_pca",
    "embeddings.manifold",
    "estimators.embedded",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_and_print_what_they_say(name):
    result = doctest.testmod(importlib.import_module(f"maxmargin.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
