"""Marks tests that take long and repeat what shorter tests do. `make test` leaves them out, and
`make test-all` runs them."""


def slow(test):
    test.is_slow = True
    return test
