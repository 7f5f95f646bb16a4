"""Errors that a user can cause: one sentence that names the file or the argument, the cause and the
cure."""

from .printable import shortened


class QseError(Exception):
    """An error with a message for the user, in one line of limited length, without control
    characters; the command line prints it and exits with `status`."""

    status = 1

    def __str__(self) -> str:
        return shortened(super().__str__())


class UsageError(QseError):
    """The request itself is wrong, independent of the files."""

    status = 2
