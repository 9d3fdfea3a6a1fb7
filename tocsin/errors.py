"""What the public API raises beside the compiler's errors. Messages are sentences for users."""

from tocsin.topology import TocsinError


class InputError(TocsinError):
    """Something the user gave is wrong: a name, a value, a file, a setting."""

    exit_code = 1


class UnavailableError(TocsinError):
    """Something Tocsin needs is not there: a broker, a topic, a running set of services."""

    exit_code = 2
