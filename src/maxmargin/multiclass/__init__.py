"""Several classes from several problems, and how these are run."""
