"""What the model sees: conversation, token counts, windows, compression."""
