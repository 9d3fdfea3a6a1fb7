"""The programs that must be on the machine: found, or named in one sentence."""

import re
import shutil
import subprocess

JAVA_VERSION = 17
"""The oldest Java that the broker, the registry and Spark all run on."""


class MissingTool(Exception):
    """A program that has to be installed first; the message says which and how."""

    exit_code = 2


def java() -> str:
    """The path of a Java that is new enough."""
    path = shutil.which("java")
    advice = "install it, e.g. `apt-get install default-jre-headless`."
    if path is None:
        raise MissingTool(f"Java {JAVA_VERSION} or newer is needed for the broker and the registry; {advice}")
    told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < JAVA_VERSION:
        what = f"{path} is Java {found[1]}" if found else f"{path} does not tell its version"
        raise MissingTool(f"Java {JAVA_VERSION} or newer is needed, but {what}; {advice}")
    return path


def maven() -> str:
    """The path of Maven's client."""
    path = shutil.which("mvn")
    if path is None:
        raise MissingTool(
            "Maven is needed to fetch the broker, the registry and Spark's jars; "
            "install it, e.g. `apt-get install maven`."
        )
    return path
