"""From findings to a diagnosis: hypotheses, judgement, order."""

from gpudx.diagnose.judge import diagnose

__all__ = ["diagnose"]
