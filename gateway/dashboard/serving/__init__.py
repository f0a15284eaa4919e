"""Serving of the pages: their files, their endpoints, and what each open page has on its screen."""
