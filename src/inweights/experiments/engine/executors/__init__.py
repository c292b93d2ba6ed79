"""Do tasks: in this process, in others, on machines of a cluster; and decide which is next."""
