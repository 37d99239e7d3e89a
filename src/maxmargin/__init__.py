"""Support vector machines that are fast and prove their answer."""
