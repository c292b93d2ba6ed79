"""What every drawing and page stands on: style, tables, escaping, the registry of drawings."""
