"""What runs a fit: the monitor, Ctrl-C, threads, memory."""
