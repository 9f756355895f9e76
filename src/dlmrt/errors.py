"""The exception tree. Every message says what was given, what is allowed and what to do.

Anything a user can cause derives from :class:`DlmrtError`; the command line turns such an
error into one line on stderr and exit code 2, and never prints a traceback for it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DlmrtError(Exception):
    """Base of all errors that a user's input, files or environment can cause."""


class ConfigError(DlmrtError):
    """A configuration value or key that is not allowed."""


class ModelNotFoundError(DlmrtError):
    """No model of that name, and no folder at that path."""


class WeightsError(DlmrtError):
    """A weight file that is missing, corrupt, truncated or does not fit the configuration."""


class PromptError(DlmrtError):
    """A prompt that is empty, too long, not text, or carries ids that are not allowed."""


class RequestError(DlmrtError):
    """A decoding parameter that is out of range or not supported here."""


class DataError(DlmrtError):
    """A data file that is missing, malformed or does not match its recorded hash."""


class ServerError(DlmrtError):
    """A server that can't be reached, refuses a request, or answers otherwise than its API says."""


class MissingExtraError(DlmrtError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the '{extra}' extra, which is not installed; run: pip install 'dlmrt[{extra}]'"
        )
        self.feature = feature
        self.extra = extra


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest allowed name, or an empty string."""
    match = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else ""
