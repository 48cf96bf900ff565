"""Alert rules and dashboard: the metrics that they name exist, and each alert has a runbook.

`just deploy-check` also runs promtool over the rules where it is installed.
"""

import re
from typing import Any

import yaml

from proofs.deploy.chart import CHART
from proofs.incidents.prometheus import alert_rules, dashboard, dashboard_queries
from sapwood.metrics import DESCRIBED, Metrics
from tests.source_files import source_files

ROOT = CHART.parents[2]
_NAME = re.compile(r"\bsapwood_\w+")


def rules() -> list[dict[str, Any]]:
    [group] = alert_rules()["groups"]
    return group["rules"]


def printed_names() -> set[str]:
    """The names of all samples that `/metrics` can print."""
    metrics = Metrics()
    for name, (kind, _) in DESCRIBED.items():
        if kind == "histogram":
            metrics.observe(name, 1.0)
        else:
            metrics.add(name)
    return {line.partition(" ")[0].partition("{")[0] for line in metrics.text().splitlines()}


def test_every_metric_that_is_queried_is_printed_and_every_printed_one_is_measured() -> None:
    queries = [rule["expr"] for rule in rules()] + dashboard_queries()
    named = {name for query in queries for name in _NAME.findall(query)}
    assert named <= printed_names()
    sources = [path.read_text() for name, path in source_files().items() if name != "metrics.py"]
    written = " ".join(sources)
    measured = {name for name in DESCRIBED if f'"{name}"' in written}
    assert set(DESCRIBED) - measured == set()
    shown = {re.sub("_bucket$", "", name) for name in named}
    unused = {"sapwood_compactions_total", "sapwood_tool_seconds"}
    assert set(DESCRIBED) - shown == unused, "what the dashboard leaves out is left out on purpose"


def test_every_alert_has_a_section_of_the_runbook_with_cause_sight_and_cure() -> None:
    page = (ROOT / "docs/guides/operations.md").read_text()
    runbook = page.partition("\n## Runbook\n")[2].partition("\n## ")[0]
    sections = dict(re.findall(r"### (\w+)\n(.*?)(?=\n### |\Z)", runbook, re.DOTALL))
    assert list(sections) == [rule["alert"] for rule in rules()]
    for rule in rules():
        name = rule["alert"]
        assert re.findall(r"^- \*\*(.*?)\*\*:", sections[name], re.MULTILINE) == [
            *("Cause", "See it", "Cure")
        ]
        assert rule["annotations"]["runbook"] == f"docs/guides/operations.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_a_panel_names_alerts_that_exist() -> None:
    board = dashboard()
    alerts = {rule["alert"] for rule in rules()}
    named = {
        name
        for panel in board["panels"]
        for name in re.findall(r"Sapwood\w+", panel["description"])
    }
    assert named <= alerts
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_guide_gives_processes_the_jobs_that_the_alerts_look_for() -> None:
    page = (ROOT / "docs/guides/operations.md").read_text()
    written = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    blocks = [yaml.safe_load(each) for each in written]
    jobs = {job_of(each) for block in blocks for each in block.get("scrape_configs", ())}
    asked = re.findall(r'job=~?"([^"]+)"', " ".join(rule["expr"] for rule in rules()))
    assert jobs == {name for each in asked for name in each.split("|")}


def job_of(scraped: dict[str, Any]) -> str:
    """The label `job` of what a job of Prometheus reads."""
    for each in scraped.get("relabel_configs", ()):
        if each.get("target_label") == "job":
            return each["replacement"]
    return scraped["job_name"]


def test_the_runbook_has_a_cure_for_each_problem_of_the_router_that_is_alerted() -> None:
    [rule] = [each for each in rules() if each["alert"] == "SapwoodRouterRefuses"]
    [asked] = re.findall(r'problem=~"([^"]+)"', rule["expr"])
    page = (ROOT / "docs/guides/operations.md").read_text()
    section = page.partition("### SapwoodRouterRefuses\n")[2].partition("\n### ")[0]
    cured = set(re.findall(r"^  \| `([A-Z][^`]+)` \|", section, re.MULTILINE))
    assert cured == set(asked.split("|"))
    router = (ROOT / "packages/sapwood-server/src/sapwood_server/router.py").read_text()
    ours = set(re.findall(r'\(\s*50\d,\s*"([^"]+)"', router))
    assert ours == cured
