"""Model providers: calls through LiteLLM, what they stream, their failures and metrics."""
