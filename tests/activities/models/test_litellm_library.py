"""Importing LiteLLM."""

from threading import Thread

from purser.activities.models.litellm_library import litellm_library
from purser.context.tokens import exact


def test_counter_and_calls_never_import_litellm_at_the_same_time() -> None:
    """Both begin in threads when a worker starts; of modules that import each other, one would see half of another."""
    litellm_library()
    threads = [Thread(target=target) for target in (exact._LiteLLM, litellm_library)]
    with exact.IMPORTING_LITELLM:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.3)
            assert thread.is_alive(), "it did not wait for the import"
    for thread in threads:
        thread.join()
