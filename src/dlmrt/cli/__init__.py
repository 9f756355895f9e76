"""The command line: one file a verb, errors and exit codes in :mod:`dlmrt.cli.app`."""
