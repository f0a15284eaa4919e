"""How requests, replies, streams and errors look in each protocol."""
