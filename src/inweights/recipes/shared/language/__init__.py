"""Share code between the recipes that fine-tune pretrained language models."""
