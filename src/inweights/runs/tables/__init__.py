"""Store tables of single training runs, shared by recipes, processes and machines.

:mod:`~.store` is the store, :mod:`~.stored` reads and writes its tables in
:mod:`~.files` (a folder or an object store), and :mod:`~.lease` decides which process
works on a task.
"""
