"""Errors that a user can cause: one sentence that names the file or the argument, and the cure."""


class QseError(Exception):
    """What is wrong and what to do about it, in one sentence; the command line prints it and exits with `status`."""

    status = 1


class UsageError(QseError):
    """The request itself makes no sense, whatever the files hold."""

    status = 2
