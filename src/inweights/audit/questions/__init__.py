"""Questions that follow from facts: their kinds, candidates, and which texts answer them."""
