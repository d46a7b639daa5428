"""LowRiskOverCommitment: avoid nodes whose pods may need more resources than the node has."""

from pilotage.plugins.load.low_risk_over_commitment.low_risk_over_commitment import LowRiskOverCommitment

__all__ = ["LowRiskOverCommitment"]
