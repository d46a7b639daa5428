"""Policy about pods: their gates, their neighbours, and how they are bound."""
