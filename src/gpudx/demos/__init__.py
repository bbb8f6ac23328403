"""The real failures that come with gpudx, for `gpudx demo` and the tests."""
