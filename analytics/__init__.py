"""PySpark over the complex events of an application: a typed reader for all, and a job that keeps tables.

    from tocsin.analytics import Source, complex_events, session

    source = Source(brokers="localhost:9092", app="fire", registry="http://localhost:8081")
    fires = complex_events(session(), source).where("type = 'Fire'")
    fires.select("attributes.Fire.*", "detection.end").show()

`run` is the job, behind `tocsin analytics run` and `python -m tocsin.analytics`; `counts` reads its table.
"""

try:
    import pyspark  # noqa: F401  imported to say in a sentence that it is missing
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "PySpark, on which the analytics run, is missing; install it: `pip install 'tocsin[spark]'`.",
        name="pyspark",
    ) from None

from tocsin.analytics.errors import AnalyticsError, AnalyticsUnavailable
from tocsin.analytics.reader import complex_events
from tocsin.analytics.session import session
from tocsin.analytics.source import Source
from tocsin.analytics.stream import AnalyticsSettings, counts, run

__all__ = [
    "AnalyticsError",
    "AnalyticsSettings",
    "AnalyticsUnavailable",
    "Source",
    "complex_events",
    "counts",
    "run",
    "session",
]
