"""Parts of `purser bench memory`: questions with evidence, baselines, and speed."""
