"""The ledger of claims: what was stated before it was run, what was judged, and the scores."""
