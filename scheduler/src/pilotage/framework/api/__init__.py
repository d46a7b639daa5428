"""What a plugin author sees; `pilotage.plugin` re-exports the stable part of it."""
