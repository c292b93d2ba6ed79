"""What a language model is asked, before and after fine-tuning, and how answers compare."""
