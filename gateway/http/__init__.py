"""What all endpoints share: middleware, bodies, pagination, rate limits, problems, the OpenAPI document."""
