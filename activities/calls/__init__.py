"""One model call: its admission and its settlement."""
