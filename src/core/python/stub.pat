# Which of the built module's names the committed stub leaves out, for nanobind's stubgen.

# Only builds for tests have them (MAXMARGIN_FAULTS).
maxmargin._core.fail_allocations:

maxmargin._core.failed_allocations:
