# Which of the built module's names the committed stub leaves out, for nanobind's stubgen:
# only builds for tests have these (MAXMARGIN_FAULTS).
maxmargin\._core\.fail_allocations:

maxmargin\._core\.failed_allocations:

