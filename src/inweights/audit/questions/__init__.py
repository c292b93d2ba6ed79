"""Create questions whose answers follow from facts, and find training texts that answer them."""
