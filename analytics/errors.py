"""What can go wrong in the analytics; every message is a sentence for users."""

from tocsin.topology import TocsinError


class AnalyticsError(TocsinError):
    """The job cannot start or cannot go on as it was told to; what it has written so far stays exact."""

    exit_code = 1


class AnalyticsUnavailable(AnalyticsError):
    """A broker, a registry or a topic is not there; the same job may run later."""

    exit_code = 2
