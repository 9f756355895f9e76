# Thin: every target is a verb of scripts/setup.sh, which also works where make is missing.
SETUP = PYTHON='$(PYTHON)' TORCH='$(TORCH)' sh scripts/setup.sh

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: setup demo test check test-gpu docs clean help

setup demo check docs clean help:
	@$(SETUP) $@

test test-gpu:
	@$(SETUP) $@ $(ARGS)
