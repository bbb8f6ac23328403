"""The kernel's own stack overflowed: deep or endless recursion, or frames that are too large for the limit."""

from __future__ import annotations

from gpudx.access.question import Question, Reason

WORDS = ("stack overflow", "user-stack-overflow", "user_stack", "lane-user-stack", "hardware-stack")


def explain(question: Question) -> Reason | None:
    said = question.exception.lower().replace("_", "-")
    if not any(word.replace("_", "-") in said for word in WORDS):
        return None
    return Reason(
        "device-stack-overflow",
        "the stack of the thread overflowed: its calls are deeper, or their frames larger, than the device's stack limit",
    )
