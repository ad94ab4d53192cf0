"""What runs on Kubernetes: each overlay is rendered by Kustomize itself, and compared with what Compose runs."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.core.management import get_commands, load_command_class

from core.job_status import QUEUES
from core.version import VERSION
from tests.config.test_docker import COMPOSE, SERVICES

REPOSITORY = Path(__file__).parents[2]
KUBERNETES = REPOSITORY / "deploy" / "kubernetes"
OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())
VERSIONS = ("1.30", "1.37")  # the first in which a container's end may wait by itself, and the newest that is known
OF_KEDA = {"ScaledObject", "TriggerAuthentication"}
CHECKS = runpy.run_path(str(REPOSITORY / "docker" / "healthcheck.py"))
Manifest = dict[str, Any]


@cache
def render(overlay: str) -> list[Manifest]:
    command = [Path(sys.executable).parent / "kubectl", "kustomize", KUBERNETES / "overlays" / overlay]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of_kind(overlay: str, *kinds: str) -> dict[str, Manifest]:
    return {manifest["metadata"]["name"]: manifest for manifest in render(overlay) if manifest["kind"] in kinds}


def pods(overlay: str) -> dict[str, Manifest]:
    """The template of each pod, by the name of its workload."""
    workloads = of_kind(overlay, "Deployment", "StatefulSet", "Job", "CronJob")
    return {
        name: (spec := w["spec"]).get("jobTemplate", {"spec": spec})["spec"]["template"]
        for name, w in workloads.items()
    }


def containers(overlay: str) -> Iterator[tuple[str, Manifest]]:
    for name, pod in pods(overlay).items():
        for container in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
            yield name, container


def container(overlay: str, workload: str) -> Manifest:
    (main,) = pods(overlay)[workload]["spec"]["containers"]
    return dict(main)


def required() -> set[str]:
    """The secrets that have to be filled in."""
    texts = [path.read_text() for path in (KUBERNETES / "secrets").glob("*.env")]
    return set(re.findall(r"^([A-Z0-9_]+)=", "\n".join(texts), re.MULTILINE))


def examples() -> dict[str, set[str]]:
    """The variables of each secret, by its name."""
    names = re.compile(r"^#?([A-Z0-9_]+)=", re.MULTILINE)
    return {path.stem: set(names.findall(path.read_text())) for path in (KUBERNETES / "secrets").glob("*.env")}


def environment(overlay: str, workload: str) -> tuple[dict[str, str], set[str]]:
    """A workload's settings, and the names of those that come from secrets."""
    values: dict[str, str] = {}
    secrets: set[str] = set()
    maps = of_kind(overlay, "ConfigMap")
    for source in container(overlay, workload).get("envFrom", []):
        if "configMapRef" in source:
            values |= maps[source["configMapRef"]["name"]]["data"]
        else:
            secrets |= examples()[source["secretRef"]["name"]]
    for variable in container(overlay, workload).get("env", []):
        reference = variable.get("valueFrom", {})
        if "secretKeyRef" in reference:
            assert reference["secretKeyRef"]["key"] in examples()[reference["secretKeyRef"]["name"]]
            secrets.add(variable["name"])
        elif "configMapKeyRef" in reference:
            values[variable["name"]] = maps[reference["configMapKeyRef"]["name"]]["data"][
                reference["configMapKeyRef"]["key"]
            ]
        else:
            values[variable["name"]] = re.sub(
                r"\$\((\w+)\)", lambda match: values.get(match[1], "a-secret"), variable["value"]
            )
    return values, secrets


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("overlay", [*OVERLAYS, "../trial"])
def test_every_overlay_renders_and_is_what_kubernetes_takes(overlay: str, version: str) -> None:
    assert len(render(overlay)) > 20
    for manifest in render(overlay):
        if manifest["kind"] not in OF_KEDA:
            kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_is_hardened_and_bounded(overlay: str) -> None:
    for name, pod in pods(overlay).items():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0, "an image's own user has a name, which Kubernetes cannot judge"
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for name, container in containers(overlay):
        added = {"add": ["NET_BIND_SERVICE"]} if name == "proxy" else {}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], **added},
        }, name
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]
    (namespace,) = of_kind(overlay, "Namespace").values()
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert all(
        manifest["metadata"]["namespace"] == "bestknown" for manifest in render(overlay) if manifest != namespace
    )


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_serves_for_good_says_how_it_is_and_is_not_taken_away_all_at_once(overlay: str) -> None:
    budgets = [b["spec"]["selector"]["matchLabels"]["app"] for b in of_kind(overlay, "PodDisruptionBudget").values()]
    for name, workload in of_kind(overlay, "Deployment", "StatefulSet").items():
        main = container(overlay, name)
        expected = {"startupProbe", "livenessProbe", "readinessProbe"}
        # a database that recovers is left alone; a heartbeat is late by minutes before it counts
        expected -= {"livenessProbe"} if name == "postgres" else set()
        expected -= {"startupProbe"} if name in ("marketplace-tick", "marketplace-deliver") else set()
        probes = {key: value for key, value in main.items() if key.endswith("Probe")}
        assert probes.keys() == expected, name
        for probe in probes.values():
            command = probe.get("exec", {}).get("command", [])
            if "docker/healthcheck.py" in command:
                assert command[2] in CHECKS["CHECKS"] and set(command[3:]) <= set(CHECKS["PURPOSES"])
                assert probe["timeoutSeconds"] == 25, "a busy machine takes its time to start a program"
        assert (name in budgets) == (workload["metadata"].get("labels", {}).get("part") is not None), name


def test_liveness_asks_only_what_starting_again_can_mend() -> None:
    for name in ("web", "money", "default", "compute", "clock", "marketplace"):
        main = container("large", name)
        for probe in ("startupProbe", "livenessProbe"):
            assert main[probe]["exec"]["command"][-1] == "liveness"
        assert main["readinessProbe"]["exec"]["command"][-1] != "liveness"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_comes_in_or_goes_out_but_what_a_policy_names(overlay: str) -> None:
    policies = of_kind(overlay, "NetworkPolicy")
    closed = policies.pop("nothing-else")["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    labels = [pod["metadata"]["labels"] for pod in pods(overlay).values()]
    for name, policy in policies.items():
        selected = policy["spec"]["podSelector"].get("matchLabels", {})
        assert any(selected.items() <= pod.items() for pod in labels), f"{name} is about nobody"
        for rule in policy["spec"].get("egress", []):
            for block in (peer["ipBlock"] for peer in rule.get("to", []) if "ipBlock" in peer):
                assert any(address.startswith(("169.254", "fe80")) for address in block["except"])
    for service in of_kind(overlay, "Service").values():
        assert any(service["spec"]["selector"].items() <= pod.items() for pod in labels)


def image_command(target: str) -> list[str]:
    """What an image of the Dockerfile runs by itself."""
    text = (REPOSITORY / "Dockerfile").read_text()
    stage = text[re.search(rf"^FROM .* AS {target}$", text, re.MULTILINE).start() :].split("\nFROM ")[0]  # type: ignore[union-attr]
    return list(yaml.safe_load(re.findall(r"^CMD (\[.*\])$", stage, re.MULTILINE)[-1]))


def compose_command(service: str, workload: str) -> list[str]:
    """What a service of Compose runs, in the words of the workload that does the same here."""
    if service == "backup":
        return ["backup", "once"]  # what `daily` does, started by a CronJob
    command = SERVICES[service].get("command", image_command("app") if service == "web" else [])
    words = [re.sub(r"\$\{\w+:-(.*)\}", r"\1", word).replace("$$", "$") for word in command]
    other = {"money,default": workload}
    secret = ("in .env - see docker/env.example", "in the secret named servers")
    return [other.get(word, word).replace(*secret) for word in words]


def test_every_process_of_compose_runs_with_the_same_command_and_image() -> None:
    names = {"beat": ["clock"], "worker": ["money", "default"], "marketplace-database": ["marketplace-migrate"]}
    runs = [(name, container["image"], container.get("command", [])) for name, container in containers("small")]
    for service, description in SERVICES.items():
        image = re.sub(r"\$\{BESTKNOWN_VERSION:-(.*)\}", r"\1", description["image"])
        for workload in names.get(service, [service]):
            assert (workload, image, compose_command(service, workload)) in runs
    served = [container("small", name)["command"] for name in QUEUES]
    assert [command[command.index("--queues") + 1] for command in served] == list(QUEUES)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_images_have_the_projects_version(overlay: str) -> None:
    for name, container in containers(overlay):
        image, _, tag = container["image"].partition(":")
        if image.startswith("bestknown-"):
            assert tag == VERSION, name
    assert environment(overlay, "backup")[0]["BESTKNOWN_VERSION"] == VERSION


def test_memory_is_bounded_as_in_compose() -> None:
    names = {"clock": "beat", "money": "worker", "default": "worker", "backup-check": None, "restore": None}
    for name in pods("small"):
        service = names.get(name, name)
        if service is not None:
            bound = re.sub(r"\$\{\w+:-(.*)\}", r"\1", SERVICES[service]["mem_limit"])
            assert container("small", name)["resources"]["limits"]["memory"].removesuffix("i").lower() == bound, name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_setting_that_compose_passes_on_is_given_or_can_be(overlay: str) -> None:
    services = {"web": "x-app", "marketplace": "x-market"}
    for workload in services.keys() & pods(overlay).keys():
        values, secrets = environment(overlay, workload)
        passed = COMPOSE[services[workload]]["environment"]
        assert passed.keys() <= values.keys() | secrets, passed.keys() - values.keys() - secrets
        for name, value in passed.items():
            default = re.fullmatch(r"\$\{\w+:-([^${}]+)\}", str(value or ""))
            if default and name in values and name not in ("DATABASE_URL", "REDIS_URL"):
                assert values[name] == default[1], name


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_programs_start_with_these_settings(overlay: str) -> None:
    """They read their settings, and check them as for production."""
    for workload, program in (("web", ["manage.py"]), ("marketplace", ["-m", "marketplace"])):
        if workload not in pods(overlay):
            continue
        values, secrets = environment(overlay, workload)
        filled = dict.fromkeys(secrets & required(), token_urlsafe(64)) | {"PATH": os.environ["PATH"]}
        done = subprocess.run(
            [sys.executable, *program, "check", "--deploy", "--fail-level", "WARNING"],
            env=filled | values,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{overlay} {workload}: {done.stderr}"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_secret_is_in_a_manifest(overlay: str) -> None:
    secrets = set().union(*examples().values())
    assert not of_kind(overlay, "Secret")
    for configuration in of_kind(overlay, "ConfigMap").values():
        assert not configuration["data"].keys() & secrets
    for _workload, container in containers(overlay):
        for variable in container.get("env", []):
            if variable["name"] in secrets and "value" in variable and variable["value"] != "unused":
                assert re.search(r"://\w*:\$\(\w+\)@", variable["value"]), variable
    for path in (KUBERNETES / "secrets").glob("*.env"):
        assert re.fullmatch(r"(#.*\n|[A-Z0-9_]+=\n)+", path.read_text()), path


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_site_and_marketplace_know_no_secret_of_each_other(overlay: str) -> None:
    for workload, container in containers(overlay):
        part = pods(overlay)[workload]["metadata"]["labels"].get("part")
        sources = {source["secretRef"]["name"] for source in container.get("envFrom", []) if "secretRef" in source}
        keys = [
            v["valueFrom"]["secretKeyRef"]["key"]
            for v in container.get("env", [])
            if "secretKeyRef" in v.get("valueFrom", {})
        ]
        if part == "site" and container["name"] != "restore":  # which reads a backup of both
            assert "marketplace" not in sources and not [key for key in keys if key.startswith("MARKETPLACE_")]
        if part == "marketplace" and container["name"] != "database":
            assert "site" not in sources and all(key.startswith("MARKETPLACE_") for key in keys)


def test_a_restore_waits_for_a_person_and_stops_what_pays_before_it_ends() -> None:
    assert of_kind("small", "Job")["restore"]["spec"]["suspend"] is True
    script = container("small", "restore")["command"][-1]
    lines = [shlex.split(line)[2:] for line in script.splitlines() if "manage.py" in line]
    assert [name for name, *_words in lines] == ["migrate", "stop_publications", "check_files"]
    for name, *words in lines:
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(words)


def test_without_a_marketplace_nothing_of_it_is_there() -> None:
    assert not [name for name in pods("without-marketplace") if "marketplace" in name]
    assert "name: marketplace" not in yaml.safe_dump([pods("without-marketplace")[name] for name in ("web", "proxy")])


def test_in_the_large_what_has_load_is_scaled_by_it() -> None:
    deployments = of_kind("large", "Deployment")
    scaled = {
        m["spec"]["scaleTargetRef"]["name"]
        for m in of_kind("large", "HorizontalPodAutoscaler", "ScaledObject").values()
    }
    assert scaled == {"web", "marketplace", *QUEUES}
    assert {name for name, workload in deployments.items() if "replicas" not in workload["spec"]} == scaled
    for name, manifest in of_kind("large", "ScaledObject").items():
        (trigger,) = manifest["spec"]["triggers"]
        assert trigger["metadata"]["valueLocation"] == f'bestknown_jobs_waiting{{queue="{name}"}}'
        assert manifest["spec"]["minReplicaCount"] >= 1, "a queue that nobody serves is a fault"
        assert trigger["authenticationRef"]["name"] in of_kind("large", "TriggerAuthentication")
    assert deployments["clock"]["spec"]["replicas"] == 2
