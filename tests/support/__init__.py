"""What tests share. Fixtures stand in `tests/conftest.py`."""
