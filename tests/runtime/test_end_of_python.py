"""A script that is done ends without a word."""

import subprocess
import sys

SCRIPT = """
import numpy as np
from maxmargin import SVC

class Graph:
    def __init__(self, size):
        self.size = size

def sizes(A, B):
    return np.array([[float(min(a.size, b.size)) for b in B] for a in A])

graphs = np.array([Graph(size) for size in range(1, 9)], dtype=object)
model = SVC(kernel=sizes).fit(graphs, [0, 1] * 4)
"""


def test_objects_that_outlive_their_script_are_no_news():
    # NumPy's object arrays hide their contents from the garbage collector
    end = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert end.stdout + end.stderr == ""
