"""The whole configuration of a run, and the version that its scores are stored under."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_health.config.extraction import Extraction
from target_health.config.files import merged, read_yaml, validated, with_defaults
from target_health.config.policy import Policy
from target_health.config.scoring import Scoring
from target_health.config.sites import Sites, load_sites
from target_health.errors import ConfigurationError
from target_health.paths import config_directory


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the files say, validated: numbers, sites, policy, and the scores' version."""

    directory: Path
    scoring: Scoring
    sites: Sites
    policy: Policy
    extraction: Extraction
    version: str

    def scoring_of(self, site: str) -> Scoring:
        """The numbers for one site: the fleet's, with what ``sites.yaml`` sets for it."""
        numbers = self.sites.overrides.get(site)
        if not numbers:
            return self.scoring
        return Scoring.model_validate(merged(self.scoring.model_dump(), numbers))


def version_of(scoring: Scoring, overrides: dict[str, dict[str, Any]]) -> str:
    """Twelve hex digits that name these numbers, whatever file they came from."""
    numbers = {"fleet": scoring.model_dump(mode="json"), "sites": overrides}
    text = json.dumps(numbers, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_configuration(
    directory: Path | None = None, scoring_file: Path | None = None
) -> Configuration:
    """The configuration in ``directory`` (default ``TARGET_HEALTH_CONFIG``).

    ``scoring_file`` stands in for ``scoring.yaml``: to score history under other numbers.
    Raises ``ConfigurationError`` with one line that names file, key and what is allowed.
    """
    directory = directory or config_directory()
    if not directory.is_dir():
        raise ConfigurationError(
            f"{directory}: no such directory; set TARGET_HEALTH_CONFIG to one with scoring.yaml"
        )
    numbers = with_defaults("scoring.yaml", directory)
    scoring_path = directory / "scoring.yaml"
    if scoring_file is not None:
        if not scoring_file.is_file():
            raise ConfigurationError(f"{scoring_file}: no such file")
        numbers, scoring_path = merged(numbers, read_yaml(scoring_file)), scoring_file
    scoring = validated(Scoring, numbers, scoring_path)
    sites = load_sites(directory, numbers)
    policy = validated(Policy, with_defaults("policy.yaml", directory), directory / "policy.yaml")
    extraction = validated(
        Extraction, with_defaults("extraction.yaml", directory), directory / "extraction.yaml"
    )
    return Configuration(
        directory, scoring, sites, policy, extraction, version_of(scoring, sites.overrides)
    )
