"""Can records of one schema be read as another? If not, what to tell the user."""

from collections.abc import Iterator

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType, lookup_writer_field
from avro.schema import EnumSchema, NamedSchema, RecordSchema, Schema, UnionSchema

from tocsin.schemas.parsing import parse


def incompatibilities(reader: str, writer: str) -> list[str]:
    """Say what keeps records of the schema `writer` from being read as `reader`, a sentence each.

    Empty if they can be read. The names of the two records are not compared: the topic says of which type its
    records are.

    >>> wanted = '{"type": "record", "name": "R", "fields": [{"name": "value", "type": "double"}]}'
    >>> given = '{"type": "record", "name": "R", "fields": [{"name": "value", "type": "string"}]}'
    >>> incompatibilities(wanted, given)
    ["Attribute 'value' is written as string and cannot be read as double."]
    """
    reader_schema, writer_schema = parse(reader), parse(writer)
    if isinstance(reader_schema, RecordSchema) and isinstance(writer_schema, RecordSchema):
        return list(_field_differences(reader_schema, writer_schema, ""))
    if _readable(reader_schema, writer_schema):
        return []
    return [
        f"The records are written as {_name(writer_schema)} and cannot be read as {_name(reader_schema)}."
    ]


def _field_differences(reader: RecordSchema, writer: RecordSchema, path: str) -> Iterator[str]:
    for field in reader.fields:
        name = path + field.name
        written = lookup_writer_field(writer_schema=writer, reader_field=field)
        if written is None:
            if not field.has_default:
                yield f"Attribute '{name}' is missing from the written records and is not optional."
        elif isinstance(field.type, RecordSchema) and isinstance(written.type, RecordSchema):
            yield from _field_differences(field.type, written.type, f"{name}.")
        elif not _readable(field.type, written.type):
            yield _mismatch(name, field.type, written.type)


def _mismatch(name: str, reader: Schema, writer: Schema) -> str:
    if isinstance(writer, UnionSchema):
        others = [branch for branch in writer.schemas if branch.type != "null"]
        if len(others) < len(writer.schemas) and all(_readable(reader, branch) for branch in others):
            return f"Attribute '{name}' may be null in the written records; declare it optional."
    if isinstance(writer, EnumSchema) and isinstance(reader, EnumSchema):
        unknown = ", ".join(symbol for symbol in writer.symbols if symbol not in reader.symbols)
        return f"Attribute '{name}' may be written as {unknown}, which its reader does not know."
    return f"Attribute '{name}' is written as {_name(writer)} and cannot be read as {_name(reader)}."


def _readable(reader: Schema, writer: Schema) -> bool:
    checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]  # avro leaves it out
    result = checker.get_compatibility(reader, writer)
    return result.compatibility is SchemaCompatibilityType.compatible


def _name(schema: Schema) -> str:
    if isinstance(schema, UnionSchema):
        return " or ".join(_name(branch) for branch in schema.schemas)
    if isinstance(schema, NamedSchema):
        return f"{schema.type} {schema.fullname}"
    return schema.type
