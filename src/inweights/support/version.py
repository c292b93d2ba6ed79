"""The version of the installed package, read when ``inweights.__version__`` is first used."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("inweights")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0"
