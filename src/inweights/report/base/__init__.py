"""Tools that all drawings and pages use: style, tables, HTML, the registry of drawings."""
