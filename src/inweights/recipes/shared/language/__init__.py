"""What the recipes that fine-tune pretrained language models share."""
