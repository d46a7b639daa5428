"""The plugin API; `pilotage.plugin` re-exports its stable part."""
