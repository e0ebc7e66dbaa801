"""Configuration: YAML files read once into frozen pydantic models, wrong ones refused in a line."""

from target_health.config.active import Configuration, load_configuration

__all__ = ["Configuration", "load_configuration"]
