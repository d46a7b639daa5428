"""LowRiskOverCommitment: keep away from nodes whose pods may want more than there is."""

from pilotage.plugins.load.low_risk_over_commitment.low_risk_over_commitment import LowRiskOverCommitment

__all__ = ["LowRiskOverCommitment"]
