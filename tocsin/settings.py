"""Settings of a deployment: `tocsin.toml` in the working folder, overridden by `TOCSIN_…` variables."""

from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Self

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from tocsin import services
from tocsin.errors import InputError, UnavailableError
from tocsin.vocabulary import suggestion

FILE = "tocsin.toml"


class Settings(BaseSettings):
    """What a deployment may decide; the command line's options override it."""

    model_config = SettingsConfigDict(env_prefix="TOCSIN_", toml_file=FILE, extra="forbid", frozen=True)

    brokers: str | None = None
    """Addresses of Kafka brokers, `host:port`, separated by commas. Unset: the local services."""
    registry: str | None = None
    """Address of a Confluent-compatible schema registry. Unset: that of the local services, if used."""
    services: str = "default"
    """Name of the set of local services to use when `brokers` is unset."""
    app: str | None = None
    """Name of the application, which begins the names of its topics. Unset: the name of the rule file."""
    state_dir: Path = Path(".tocsin/state")
    """Where workers keep their state."""
    commit_interval_ms: int = Field(default=200, ge=1, le=60_000)
    """How often a worker commits; also how long a complex event may wait to be seen."""
    exactly_once: bool = True
    """Whether workers commit by transactions. False: complex events may come again after a crash."""
    state_memory_mb: int | None = Field(default=None, ge=1)
    """How much of its state a worker keeps in memory; the rest is read from disk when needed. Unset: all."""
    standbys: int = Field(default=0, ge=0)
    """How many workers keep a copy of each task's state, beside the one that runs it."""
    partitions: int = Field(default=4, ge=1, le=10_000)
    """Partitions of the input topics that workers create."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 – the signature is pydantic's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Say where settings come from, the strongest first."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @classmethod
    def load(cls, **overrides: Path | str | int | None) -> Self:
        """Read the settings; an override of None counts as not given."""
        try:
            given: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
            return cls(**given)
        except ValidationError as error:
            raise InputError(" ".join(_sentence(problem) for problem in error.errors())) from error
        except TOMLDecodeError as error:
            raise InputError(f"{FILE} is not valid TOML: {error}.") from error

    def addresses(self) -> tuple[str, str | None]:
        """Return the addresses of the brokers and of the registry, if there is one."""
        if self.brokers is not None:
            return self.brokers, self.registry
        local = services.find(self.services)
        if local is None:
            raise UnavailableError(
                "There is no Kafka to connect to. Start one with `tocsin services up --detach`, or set "
                "TOCSIN_BROKERS to where yours is."
            )
        return local.bootstrap, self.registry or local.registry_url


def _sentence(problem: ErrorDetails) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{FILE} has an unknown setting '{name}'{suggestion(name, Settings.model_fields)}"
    where = f"The setting {name} (TOCSIN_{name.upper()} or {FILE})"
    return f"{where} cannot be {problem['input']!r}: {problem['msg']}."
