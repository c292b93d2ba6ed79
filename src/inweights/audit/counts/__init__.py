"""Count what an audit shows: relations and chains of facts, and shortcuts past a chain."""
