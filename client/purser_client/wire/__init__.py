"""Bodies and answers of the HTTP API, below all else: the client imports them as `purser_client.wire`, the server as
`purser.wire`, which links to this folder. Modules import each other relatively, so that they work under both names.
"""
