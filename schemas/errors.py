"""What can go wrong with schemas; messages are sentences for users, `exit_code` is the command line's."""


class SchemaError(Exception):
    """A schema is not valid, or a value does not fit it."""

    exit_code = 1


class FrameError(SchemaError):
    """The bytes do not begin with a frame that names a schema."""


class RegistryError(SchemaError):
    """The schema registry did not do what was asked."""


class RegistryMissing(RegistryError):
    """The registry answered that it has no such schema; asking again will not help."""


class RegistryRefused(RegistryError):
    """The registry answered that it does not accept the schema."""


class RegistryDown(RegistryError):
    """The registry gave no usable answer; asking again later may help."""

    exit_code = 2
