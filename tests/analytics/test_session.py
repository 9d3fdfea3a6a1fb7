"""What a session needs, and what it leaves alone."""

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from tocsin.analytics import session
from tocsin.deploy import MissingTool


def test_interrupts_stay_with_the_caller(spark: SparkSession, handlers: list[object]) -> None:
    assert spark.sparkContext.master == "local[2]"
    before, after = handlers
    assert after is before


def test_java_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingTool, match="Java"):
        session()


def test_pyspark_is_missing() -> None:
    script = "import sys; sys.modules['pyspark'] = None; import tocsin.analytics"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PySpark, on which the analytics run, is missing" in done.stderr.splitlines()[-1]
