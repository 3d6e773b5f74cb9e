"""The examples for KubeRay and for plain machines, as far as they can be tested without either."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

from gossamer.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "cluster"
KUBERAY, MACHINES = EXAMPLES / "kuberay.yaml", EXAMPLES / "plain_machines.sh"

# Of KubeRay's ray.io/v1, in ray-operator/apis/ray/v1/raycluster_types.go: (needed, others).
SPEC = {"headGroupSpec"}, {"workerGroupSpecs", "rayVersion", "enableInTreeAutoscaling", "autoscalerOptions"}
HEAD = {"rayStartParams", "template"}, {"serviceType", "headService", "enableIngress"}
WORKERS = {"groupName", "minReplicas", "maxReplicas", "rayStartParams", "template"}, {"replicas", "numOfHosts"}
QUANTITY = re.compile(r"\d+(\.\d+)?(m|[KMGT]i?)?")


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    """The documents of the YAML file by their kind."""
    yaml = pytest.importorskip("yaml", reason="comes with Ray")
    return {part["kind"]: part for part in yaml.safe_load_all(KUBERAY.read_text())}


def groups(parts: dict[str, Any]) -> list[dict[str, Any]]:
    spec = parts["RayCluster"]["spec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def fits(given: dict[str, Any], fields: tuple[set[str], set[str]]) -> bool:
    needed, others = fields
    return needed <= given.keys() <= needed | others


def test_the_fields_are_those_of_kuberay(parts: dict[str, Any]) -> None:
    assert parts.keys() == {"PersistentVolumeClaim", "RayCluster"}
    assert parts["RayCluster"]["apiVersion"] == "ray.io/v1"
    head, *workers = groups(parts)
    assert fits(parts["RayCluster"]["spec"], SPEC)
    assert fits(head, HEAD)
    for each in workers:
        assert fits(each, WORKERS)
        assert each["minReplicas"] <= each["replicas"] <= each["maxReplicas"]


def test_all_nodes_see_the_folder(parts: dict[str, Any]) -> None:
    claim = parts["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    images = set()
    for group in groups(parts):
        pod = group["template"]["spec"]
        volumes = {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"]}
        assert set(volumes.values()) == {claim["metadata"]["name"]}
        (container,) = pod["containers"]
        assert [(each["name"] in volumes, each["mountPath"]) for each in container["volumeMounts"]] == [(True, "/data")]
        assert all(QUANTITY.fullmatch(each) for each in container["resources"]["limits"].values())
        images.add(container["image"])
    assert len(images) == 1  # Ray wants one version everywhere


def test_ray_start_takes_the_parameters(parts: dict[str, Any]) -> None:
    pytest.importorskip("ray")
    start = import_module("ray.scripts.scripts").start
    known = {option.removeprefix("--") for parameter in start.params for option in parameter.opts}
    for group in groups(parts):
        assert group["rayStartParams"].keys() <= known
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    lines = [line for line in MACHINES.read_text().splitlines() if " ray start " in line]
    used = {word for line in lines for word in re.findall(r"--([\w-]+)", line)}
    assert used - {"head"} <= known
    assert len(lines) == 2


def commands() -> list[list[str]]:
    """The commands of ours in both files, without `gossamer`, variables and all."""
    text = KUBERAY.read_text() + MACHINES.read_text()
    return [shlex.split(line)[1:] for line in re.findall(r"gossamer cluster .*", text)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_are_ours(words: list[str]) -> None:
    values = {"$2": "news.jsonl", "$CLUSTER": "news.cluster", "${SHARDS:-8}": "8", "$HEAD:6379": "10.0.0.1:6379"}
    group, name, *rest = (values.get(word, word) for word in words)
    assert not any("$" in word for word in rest)
    command: Any = typer.main.get_command(app)
    found = command.commands[group].commands[name]
    with found.make_context(name, rest) as context:
        assert context.params["address"] in ("auto", "10.0.0.1:6379")


def test_versions_and_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (ray,) = extras["ray"]
    assert f"rayproject/ray:{ray.partition('>=')[2]}.0 " in KUBERAY.read_text()
    for example in EXAMPLES.iterdir():
        if example.is_file():
            for names in re.findall(r"gossamer\[([\w,-]+)\]", example.read_text()):
                assert set(names.split(",")) <= extras.keys()


def test_the_script_explains_itself() -> None:
    subprocess.run(["sh", "-n", str(MACHINES)], check=True)
    told = subprocess.run(["sh", str(MACHINES)], check=True, capture_output=True, text=True).stdout
    assert "HEAD=10.0.0.1 sh plain_machines.sh head" in told
