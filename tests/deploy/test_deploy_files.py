"""The files of `deploy/`: their commands exist, and their parts fit together.

`just deploy-check` also runs Caddy, nginx, hadolint, systemd-analyze and Helm where they exist.
"""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from starlette.requests import Request

from proofs.deploy.chart import CHART, EVERYTHING, rendered
from sapwood.cli.root import root as cli
from sapwood.config.config_file import parse_config
from sapwood.metrics import DESCRIBED
from sapwood_server.access.rate_limit import client_address, parse_proxies
from sapwood_server.access.request_checks import is_loopback

DEPLOY = CHART.parents[1]


def command_lines() -> list[tuple[str, list[str]]]:
    """Every line that runs `sapwood`, with the file that has it."""
    found: list[tuple[str, list[str]]] = []
    for unit in (DEPLOY / "systemd").glob("*.service"):
        [line] = re.findall(r"^ExecStart=\S+/sapwood (.*)$", unit.read_text(), re.MULTILINE)
        found.append((unit.name, shlex.split(line.replace("%i", "9091"))))
    [line] = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    found.append(("Containerfile", yaml.safe_load(line)))
    for name, service in compose()["services"].items():
        if name.startswith(("server", "worker")):
            found.append((f"compose.yaml {name}", service["command"]))
    for each in [*deployments(), *[each for each in rendered() if each["kind"] == "Job"]]:
        [container] = each["spec"]["template"]["spec"]["containers"]
        found.append((f"chart {container['name']}", container["args"]))
    return found


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def deployments() -> list[dict[str, Any]]:
    return [each for each in rendered() if each["kind"] == "Deployment"]


def test_every_command_line_has_options_that_exist() -> None:
    lines = command_lines()
    assert len(lines) == 9
    for file, [name, *arguments] in lines:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, file
        words = ["1" if word.startswith("$") else word for word in arguments]
        try:
            command.make_context(name, words, resilient_parsing=False)
        except click.ClickException as error:
            pytest.fail(f"{file}: {error.format_message()}")


def test_the_proxy_of_the_compose_file_reaches_its_servers() -> None:
    services = compose()["services"]
    proxy = services["proxy"]
    upstreams = proxy["environment"]["SAPWOOD_SERVERS"].split()
    exposed = re.search(r"^EXPOSE (\d+)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert exposed is not None
    assert upstreams == [f"server-{n}:{exposed[1]}" for n in (1, 2)]
    named = set(re.findall(r"\{\$(\w+):", (DEPLOY / "Caddyfile").read_text()))
    assert named - {"SAPWOOD_READINESS"} == set(proxy["environment"])
    mounted = [*proxy["volumes"], *services["worker"]["volumes"]]
    files = [each.partition(":")[0] for each in mounted if each.startswith("./")]
    assert len(files) == 2
    assert all((DEPLOY / each).is_file() for each in files)


def test_the_health_check_of_the_proxy_sends_a_name_that_every_server_accepts() -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    [name] = re.findall(r"health_headers \{\s*Host (\S+)\s*\}", text)
    assert is_loopback(name), "servers always accept the names of their own machine"


def test_servers_accept_the_names_by_which_prometheus_reads_them() -> None:
    services = compose()["services"]
    for name in ("server-1", "server-2"):
        assert name in names_of(services[name]["command"])
    [pod] = [
        each["spec"]["template"]["spec"]["containers"][0]
        for each in deployments()
        if each["metadata"]["name"].endswith("server")
    ]
    own = {each["name"] for each in pod["env"] if "status.podIP" in str(each)}
    assert own
    assert {f"$({name})" for name in own} <= names_of(pod["args"])


def names_of(words: list[str]) -> set[str]:
    """The names that a command line of a server gives it."""
    return {words[place + 1] for place, word in enumerate(words) if word == "--host-name"}


def test_the_list_of_erasures_of_each_process_is_on_a_volume() -> None:
    image = (DEPLOY / "Containerfile").read_text()
    [file] = re.findall(r"SAPWOOD_ERASURES=(\S+)", image)
    folder = str(Path(file).parent)
    assert re.search(rf"--owner=10001.*[^$]*{folder}\b", image), "a new volume has its owner"
    services = compose()["services"]
    for name in ("server-1", "server-2", "worker"):
        assert f"erasures:{folder}" in services[name]["volumes"]
    for each in rendered(erasures={"claim": "erased"}):
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            [container] = pod["containers"]
            mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            claims = {
                volume["name"]: volume["persistentVolumeClaim"]["claimName"]
                for volume in pod["volumes"]
                if "persistentVolumeClaim" in volume
            }
            assert mounts["erasures"] == folder
            assert claims["erasures"] == "erased"
            named = {each["name"]: each.get("value") for each in container["env"]}
            assert named["SAPWOOD_ERASURES"] == f"{folder}/$(POD_NAME).jsonl"


def test_servers_and_workers_read_the_same_settings_and_restart_when_they_change() -> None:
    parse_config((DEPLOY / "config.toml").read_text(), DEPLOY / "config.toml")
    services = compose()["services"]
    for name in ("server-1", "server-2", "worker"):
        file = services[name]["environment"]["SAPWOOD_CONFIG"]
        assert f"./config.toml:{file}:ro" in services[name]["volumes"]

    def sums(objects: list[dict[str, Any]]) -> set[str]:
        pods = [each["spec"]["template"] for each in objects if each["kind"] == "Deployment"]
        return {pod["metadata"]["annotations"]["checksum/config"] for pod in pods}

    text = EVERYTHING["config"]
    objects = rendered(config=text)
    [settings] = [each["stringData"] for each in objects if each["kind"] == "Secret"]
    assert settings == {"config.toml": text}
    assert parse_config(text, DEPLOY / "config.toml").limits.per_space == 20
    assert len(sums(objects)) == 1
    assert sums(objects) != sums(rendered())
    for each in objects:
        if each["kind"] == "Deployment":
            [container] = each["spec"]["template"]["spec"]["containers"]
            named = {each["name"]: each.get("value") for each in container["env"]}
            [mount] = [each for each in container["volumeMounts"] if each["name"] == "config"]
            assert named["SAPWOOD_CONFIG"] == f"{mount['mountPath']}/config.toml"


@pytest.mark.parametrize("caddy", ["172.18.0.7", "192.168.16.4", "fd12:3456::2"])
def test_attempts_to_sign_in_by_the_compose_file_are_counted_for_each_client(caddy: str) -> None:
    assert not any("ports" in compose()["services"][name] for name in ("server-1", "server-2"))
    settings = parse_config((DEPLOY / "config.toml").read_text(), DEPLOY / "config.toml")
    forwarded = [(b"x-forwarded-for", b"203.0.113.9")]
    request = Request({"type": "http", "client": (caddy, 50_000), "headers": forwarded})
    assert client_address(request, parse_proxies(settings.serve.proxies)) == "203.0.113.9"


def test_no_proxy_keeps_a_client_to_one_server_or_holds_back_its_events() -> None:
    caddy, nginx = (DEPLOY / "Caddyfile").read_text(), (DEPLOY / "nginx.conf").read_text()
    assert "flush_interval -1" in caddy
    assert "proxy_buffering off" in nginx
    for text in (caddy, nginx):
        text = re.sub(r"#.*", "", text)
        assert not re.search(r"ip_hash|lb_policy (cookie|ip_hash)|sticky ", text)
        assert re.search(r"lb_try_duration|proxy_next_upstream ", text)


def test_the_chart_selects_its_own_pods_and_probes_its_own_ports() -> None:
    objects = rendered("blue")
    [service] = [each for each in objects if each["kind"] == "Service"]
    found = [each for each in objects if each["kind"] == "Deployment"]
    assert len(found) == 2
    for each in found:
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
        [container] = each["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for port in container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
    selected = [
        each
        for each in found
        if service["spec"]["selector"].items()
        <= each["spec"]["template"]["metadata"]["labels"].items()
    ]
    assert [each["metadata"]["name"] for each in selected] == ["blue-server"]


def test_the_chart_can_do_without_an_ingress() -> None:
    without = rendered(ingress={"enabled": False, "className": "", "tlsSecret": ""})
    kinds = {each["kind"] for each in without}
    assert kinds == {"Deployment", "Job", "PodDisruptionBudget", "Secret", "Service"}


def test_the_whole_chart_scales_by_the_age_of_the_queue_and_keeps_strangers_out() -> None:
    objects = rendered("blue", **EVERYTHING)
    found = {(each["kind"], each["metadata"]["name"]): each.get("spec", {}) for each in objects}
    workers = found["Deployment", "blue-worker"]
    scaler = found["HorizontalPodAutoscaler", "blue-worker"]
    assert "replicas" not in workers, "an upgrade would undo what the autoscaler did"
    assert scaler["scaleTargetRef"]["name"] == "blue-worker"
    [metric] = scaler["metrics"]
    assert metric["external"]["metric"]["name"] in DESCRIBED
    [worker] = workers["template"]["spec"]["containers"]
    assert worker["args"][worker["args"].index("--app") + 1] == EVERYTHING["app"]
    for name in ("server", "worker"):
        pod = found["Deployment", f"blue-{name}"]["template"]
        [container] = pod["spec"]["containers"]
        assert container["resources"]["limits"]["memory"]
        policy = found["NetworkPolicy", f"blue-{name}"]
        budget = found["PodDisruptionBudget", f"blue-{name}"]
        for selector in (policy["podSelector"], budget["selector"]):
            assert selector["matchLabels"].items() <= pod["metadata"]["labels"].items()
        [allowed] = policy["ingress"]
        assert allowed["ports"][0]["port"] in {port["name"] for port in container["ports"]}
    [tls] = found["Ingress", "blue"]["tls"]
    assert tls["secretName"] == "site"
    [job] = found["Job", "blue-migrate"]["template"]["spec"]["containers"]
    assert job["args"] == ["migrate"]


def test_everything_has_time_to_stop() -> None:
    from sapwood_server.http_server import LAST_SECONDS

    pods = [each["spec"]["template"]["spec"] for each in deployments()]
    grace = [int(pod["terminationGracePeriodSeconds"]) for pod in pods]
    text = (DEPLOY / "compose.yaml").read_text()
    grace += [int(value) for value in re.findall(r"grace_period: (\d+)s", text)]
    for unit in (DEPLOY / "systemd").glob("*.service"):
        grace += [int(value) for value in re.findall(r"TimeoutStopSec=(\d+)", unit.read_text())]
    assert len(grace) == 5
    assert all(seconds >= LAST_SECONDS + 10 for seconds in grace)


def test_the_image_can_back_up_the_database_of_compose() -> None:
    image = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"apt-get install .*\bpostgresql-client\b", image)
    needed = compose()["services"]["database"]["image"].partition(":")[2]
    assert f"as the server: {needed}." in image, "the release of Debian has another pg_dump"


def test_agents_of_a_deployment_have_an_empty_working_folder_and_a_sandbox() -> None:
    image = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"apt-get install .*\bbubblewrap\b", image)
    assert re.search(r"^USER (\d+)$", image, re.MULTILINE)
    [folder] = re.findall(r"^WORKDIR (/var/\S+)$", image, re.MULTILINE)
    assert folder != re.findall(r"HOME=(\S+)", image)[0], "the home folder has the tokens"
    for unit in (DEPLOY / "systemd").glob("*.service"):
        settings = dict(
            line.split("=", 1)
            for line in unit.read_text().splitlines()
            if "=" in line and line[0] != "#"
        )
        made = [f"/var/lib/{each}" for each in settings["StateDirectory"].split()]
        assert settings["WorkingDirectory"] in made
        assert settings["User"] not in ("", "root")
        runs_agents = "--no-agents" not in settings["ExecStart"]
        assert ("user" in settings["RestrictNamespaces"].split()) is runs_agents
        if runs_agents:  # otherwise bubblewrap cannot mount a /proc of its own
            assert not {"ProtectProc", "ProtectKernelTunables", "ProtectKernelLogs"} & set(settings)


def test_the_chart_gives_servers_and_workers_the_same_folders_or_none() -> None:
    def folders(objects: list[dict[str, Any]]) -> list[str]:
        pods = [
            each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment"
        ]
        lines = [pod["containers"][0]["args"] for pod in pods]
        return [args[args.index("--folder") + 1] for args in lines if "--folder" in args]

    assert folders(rendered()) == []
    shared = folders(rendered(spaces={"claim": "shared"}))
    assert shared == ["*=/srv/sapwood/{space}"] * 2
    for each in rendered(spaces={"claim": "shared"}):
        if each["kind"] == "Deployment":
            pod = each["spec"]["template"]["spec"]
            mounts = {each["name"]: each for each in pod["containers"][0]["volumeMounts"]}
            assert shared[0].partition("=")[2].startswith(mounts["spaces"]["mountPath"])
            assert {volume["name"] for volume in pod["volumes"]} == set(mounts)


def test_the_script_for_commands_runs_them_as_the_units_run() -> None:
    script = (DEPLOY / "systemd" / "sapwood").read_text()
    for unit in (DEPLOY / "systemd").glob("*.service"):
        text = unit.read_text()
        for name, option in (
            ("User", "--uid="),
            ("Environment", "--setenv="),
            ("EnvironmentFile", "--property=EnvironmentFile="),
            ("WorkingDirectory", "--working-directory="),
        ):
            for value in re.findall(rf"^{name}=(.*)$", text, re.MULTILINE):
                assert re.search(rf"{option}-?{value}\s", script), f"{unit.name}: {name}={value}"
        [program] = re.findall(r"^ExecStart=(\S+)", text, re.MULTILINE)
        assert f'{program} "$@"' in script
