"""Fine-tuning on facts: the job, its stages, objective and record."""
