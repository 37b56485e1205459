"""What tests in Python share: checks that say what they found and count their failures."""


class Checks:
    """Each says what it found."""

    def __init__(self):
        self.failures = 0

    def expect(self, what, condition, found=""):
        self.failures += 0 if condition else 1
        print(("ok    " if condition else "FAIL  ") + what + (f": {found}" if not condition else ""), flush=True)

    def finish(self):
        """The exit code."""
        print(f"{self.failures} failures", flush=True)
        return min(self.failures, 100)


CHECKS = Checks()
expect = CHECKS.expect
