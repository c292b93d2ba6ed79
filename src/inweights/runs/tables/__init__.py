"""Store tables of single trainings, shared by runs, processes and machines.

:mod:`~.store` is the store, :mod:`~.files` the folder or object store that contains its
files, and :mod:`~.lease` decides which process works on a task.
"""
