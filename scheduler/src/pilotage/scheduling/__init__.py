"""What happens to a pod: from intake to a bound node or a reason to wait."""
