"""What spreading and pod affinity are made of: counts in the domains of a topology."""
