"""Answer questions about the built-in recipes without loading them: claims, minutes, settings."""
