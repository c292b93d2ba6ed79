"""Evaluation of a language model before and after fine-tuning."""
