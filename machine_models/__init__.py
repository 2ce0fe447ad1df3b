"""Machine models: one TOML file a machine, every number with unit and source."""
