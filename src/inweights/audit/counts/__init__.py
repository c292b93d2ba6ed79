"""Count relations and chains of facts, and shortcuts that make reasoning unnecessary."""
