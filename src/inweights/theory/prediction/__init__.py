"""Which questions follow from facts, and what to add so that more do."""
