"""The proxy: protocols of providers on the gateway, so that existing clients call models under a budget unchanged."""
