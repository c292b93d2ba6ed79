"""What is known of the built-in recipes without loading them."""
