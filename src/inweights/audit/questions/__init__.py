"""Make questions that follow from facts, with candidates, and find texts that answer them."""
