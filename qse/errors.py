"""Errors that a user can cause: one sentence that names the file or the argument, the cause and the
cure."""


class QseError(Exception):
    """An error with a message for the user; the command line prints it and exits with `status`."""

    status = 1


class UsageError(QseError):
    """The request itself is wrong, independent of the files."""

    status = 2
