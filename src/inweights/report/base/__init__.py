"""Tools for all drawings and pages: style, tables, HTML, the registry of drawing functions."""
