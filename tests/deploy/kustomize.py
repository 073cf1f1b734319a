"""Kustomize, as much of it as deploy/kubernetes uses: what `kubectl kustomize FOLDER` prints, but for the hash in a ConfigMap's name.

resources ──▶ generated ConfigMaps ──▶ components ──▶ patches ──▶ images, namespace
"""

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]
KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "images", "configMapGenerator", "patches"}


def build(folder: Path) -> list[Document]:
    """Every object of the kustomization in `folder`."""
    return _applied(folder, [])


def read(path: Path) -> list[Document]:
    """The documents of one file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def kustomization(folder: Path) -> Document:
    """What a folder is made of; refuses what this file does not know."""
    (made_of,) = read(folder / "kustomization.yaml")
    assert made_of.keys() <= KNOWN, f"{folder.name}: {made_of.keys() - KNOWN}"
    return made_of


def _applied(folder: Path, documents: list[Document]) -> list[Document]:
    made_of = kustomization(folder)
    for name in made_of.get("resources", ()):
        documents = [*documents, *(build(folder / name) if (folder / name).is_dir() else read(folder / name))]
    for generator in made_of.get("configMapGenerator", ()):
        documents = _generated(documents, generator)
    for name in made_of.get("components", ()):
        documents = _applied(folder / name, documents)
    for patch in made_of.get("patches", ()):
        documents = _patched(documents, read(folder / patch["path"])[0], patch.get("target", {}).get("kind"))
    for image in made_of.get("images", ()):
        for container in containers(documents):
            if container.get("image") == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"
    for document in documents:
        if "namespace" in made_of:
            document["metadata"]["namespace"] = made_of["namespace"]
    return documents


def containers(documents: list[Document]) -> list[Document]:
    """Every container of every object that has pods."""
    return [container for pod in pods(documents) for container in pod["containers"]]


def pods(documents: list[Document]) -> list[Document]:
    """What the pods are made of, of every object that has some."""
    specs = [document.get("spec", {}) for document in documents]
    return [spec["template"]["spec"] for spec in (one.get("jobTemplate", {}).get("spec", one) for one in specs) if "template" in spec]


def _generated(documents: list[Document], generator: Document) -> list[Document]:
    data = dict(literal.split("=", 1) for literal in generator["literals"])
    if generator.get("behavior") == "merge":
        (there,) = (one for one in documents if one["kind"] == "ConfigMap" and one["metadata"]["name"] == generator["name"])
        there["data"] |= data
        return documents
    return [*documents, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}]


def _patched(documents: list[Document], patch: Document, kind: str | None) -> list[Document]:
    meant = [one for one in documents if one["kind"] == (kind or patch["kind"]) and (kind or _name(one) == _name(patch))]
    assert meant, f"a patch of {_name(patch)} meets nothing"
    return [_merged(one, patch | {"metadata": one["metadata"]}) if one in meant else one for one in documents]


def _merged(under: Any, over: Any) -> Any:
    """Maps key by key, lists of named things by name; of anything else the patch's."""
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {key: _merged(under[key], value) if key in under else deepcopy(value) for key, value in over.items()}
    if isinstance(under, list) and isinstance(over, list) and all(isinstance(one, dict) and "name" in one for one in [*under, *over]):
        there, more = {one["name"]: one for one in under}, {one["name"]: one for one in over}
        return [_merged(there[name], more.get(name, {})) if name in there else deepcopy(more[name]) for name in there | more]
    return deepcopy(over)


def _name(document: Document) -> str:
    return str(document["metadata"]["name"])
