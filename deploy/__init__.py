"""What runs beside or around Tocsin: poms for the Java parts, images, and the code that fetches them."""

from tocsin.deploy.maven import FetchFailed, jars
from tocsin.deploy.tools import MissingTool, java

__all__ = ["FetchFailed", "MissingTool", "jars", "java"]
