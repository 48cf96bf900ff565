"""Renders the chart where Helm is not installed: the few forms that its templates use."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "sapwood"
_FORM = re.compile(r"[ \t]*\{\{-\s*(.*?)\s*\}\}|\{\{\s*(.*?)\s*\}\}")
_IF = re.compile(
    r"[ \t]*\{\{-? if (not )?(\S+) \}\}\n((?:(?!\{\{-? if ).)*?)[ \t]*\{\{-? end \}\}\n?", re.DOTALL
)
"""A block without another one inside."""


def rendered(release: str = "demo", **changes: Any) -> list[dict[str, Any]]:
    """All objects of the chart. `changes` replace values. Raises ValueError for another form."""
    values: dict[str, Any] = {**yaml.safe_load((CHART / "values.yaml").read_text()), **changes}
    found: list[dict[str, Any]] = []
    for file in sorted((CHART / "templates").glob("*.yaml")):
        text, found_blocks = file.read_text(), 1
        while found_blocks:
            text, found_blocks = _IF.subn(
                lambda match: (
                    match[3] if bool(_value(match[2], values, release)) != bool(match[1]) else ""
                ),
                text,
            )
        text = _FORM.sub(lambda match: _form(match[1] or match[2], values, release), text)
        found += [each for each in yaml.safe_load_all(text) if each]
    return found


EVERYTHING: dict[str, Any] = {
    "app": "shop.agents:runtime",
    "config": "[limits]\nper_space = 20\n",
    "autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 9, "targetSeconds": 15},
    "erasures": {"claim": "erased"},
    "spaces": {"claim": "shared"},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "site"},
    "networkPolicy": {
        "enabled": True,
        "ingressNamespace": "ingress-nginx",
        "monitoringNamespace": "monitoring",
        "egress": [{"port": 5432, "protocol": "TCP"}],
    },
}
"""Values with which the chart has all its parts."""


def _form(form: str, values: dict[str, Any], release: str) -> str:
    """What a form in braces becomes."""
    if match := re.fullmatch(r"toYaml (\S+) \| nindent (\d+)", form):
        lines = yaml.safe_dump(_value(match[1], values, release)).splitlines()
        return "".join(f"\n{' ' * int(match[2])}{line}" for line in lines).removeprefix("\n")
    if match := re.fullmatch(r"(\S+) \| toJson", form):
        return json.dumps(_value(match[1], values, release))
    if match := re.fullmatch(r"(\S+) \| sha256sum \| quote", form):
        digest = hashlib.sha256(str(_value(match[1], values, release)).encode()).hexdigest()
        return f'"{digest}"'
    if match := re.fullmatch(r"(\S+) \| quote", form):
        return f'"{_value(match[1], values, release)}"'
    return str(_value(form, values, release))


def _value(name: str, values: dict[str, Any], release: str) -> Any:
    if name == ".Release.Name":
        return release
    if not name.startswith(".Values."):
        raise ValueError(f"The form '{name}' is not known here.")
    found: Any = values
    for part in name.removeprefix(".Values.").split("."):
        found = found[part]
    return found
