#!/usr/bin/env python3
"""deploy/kubernetes: every document against Kubernetes' own schemas, what pods are promised to be, and the scripts of the pods with real nodes.

Usage: kubernetes.py SCYPERD SCYPER
Overlays are rendered by kubectl where there is one with kustomize 5; else the base's files are read as they are. Schemas: kubernetes-validate
(tools/install-packages); without it they are skipped. The API server is a small one of this test. The exit code counts the failures.
"""
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, comes_true, expect, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
SCRIPTS = KUBERNETES / "base" / "scripts"
VALIDATE = pathlib.Path(os.environ.get("HOME", "/root")) / ".cache/scyper/kubernetes/bin/kubernetes-validate"
VERSIONS = ("1.29", "1.37")
GRPC, HTTP = r"gRPC on port (\d+)", r"http://[^ ]*:(\d+)/metrics"  # what a node says
WITHOUT_SCHEMA = ("ServiceMonitor",)  # of operators, not of Kubernetes


def can_render():
    try:
        return "Kustomize Version: v5" in run("kubectl", "version", "--client")[1]
    except FileNotFoundError:
        return False


def documents_of(folder):
    """(text, documents) of a kustomization, rendered; or of its files."""
    if can_render():
        done = subprocess.run(["kubectl", "kustomize", folder], text=True, capture_output=True, timeout=PATIENCE_S, check=False)
        expect(f"{folder.name} can be rendered", done.returncode == 0, done.stderr)
        text = done.stdout
    else:
        names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
        text = "\n---\n".join((folder / name).read_text() for name in names if name.endswith(".yaml"))
    return text, [document for document in yaml.safe_load_all(text) if document]


def check_schemas(name, text):
    if not VALIDATE.exists():
        print("skipped: schemas, as kubernetes-validate is not installed", flush=True)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        kept = [d for d in yaml.safe_load_all(text) if d and d["kind"] not in WITHOUT_SCHEMA]
        file.write(yaml.safe_dump_all(kept))
        file.flush()
        for version in VERSIONS:
            code, said = run(VALIDATE, "--strict", "--version", version, file.name)
            expect(f"{name} is as Kubernetes {version} wants it", code == 0, said)


def one(documents, kind, name):
    found = [d for d in documents if d["kind"] == kind and d["metadata"]["name"] == name]
    expect(f"{kind} {name}", len(found) == 1, len(found))
    return found[0]


def check_pod(documents):
    node_set = one(documents, "StatefulSet", "scyper")
    pod = node_set["spec"]["template"]
    expect("pods are what is selected", node_set["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items())
    spec = pod["spec"]
    expect("no token but the role's", spec["automountServiceAccountToken"] is False)
    expect("not root", spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault")
    volumes = {volume["name"] for volume in spec["volumes"]} | {c["metadata"]["name"] for c in node_set["spec"]["volumeClaimTemplates"]}
    for container in spec["containers"]:
        name, context = container["name"], container["securityContext"]
        expect(f"{name} has no rights", not context["allowPrivilegeEscalation"] and context["readOnlyRootFilesystem"]
               and context["capabilities"] == {"drop": ["ALL"]}, context)
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        expect(f"{name}'s volumes are there", mounted <= volumes, mounted - volumes)
        limits, requests = container["resources"]["limits"], container["resources"]["requests"]
        expect(f"{name} gets the memory that it may use", limits["memory"] and (name == "role" or limits["memory"] == requests["memory"]), limits)
        script = KUBERNETES / "base" / pathlib.Path(container["command"][0]).relative_to("/etc/scyper")
        expect(f"{name} runs a script that is there", script.exists() and os.access(script, os.X_OK), script)
    for volume in spec["volumes"]:
        mode = volume.get("configMap", {}).get("defaultMode")
        expect(f"volume {volume['name']}", mode is None or mode & 0o111 == 0o111, mode)


def check_services(documents):
    pod = one(documents, "StatefulSet", "scyper")["spec"]["template"]
    ports = {port["name"] for container in pod["spec"]["containers"] for port in container.get("ports", [])}
    roles = set(re.findall(r"role=(\w+)", (SCRIPTS / "role").read_text()))
    for document in documents:
        if document["kind"] != "Service" or document["metadata"]["name"] == "etcd":
            continue
        name, spec = document["metadata"]["name"], document["spec"]
        expect(f"{name} goes to ports of pods", {port["targetPort"] for port in spec["ports"]} <= ports, spec["ports"])
        role = spec["selector"].get("scyper.io/role")
        expect(f"{name} chooses pods by labels that they get", role is None or role in roles, role)
    expect("nodes are found before they are ready", one(documents, "Service", "scyper-nodes")["spec"]["publishNotReadyAddresses"] is True)
    expect("drains leave a majority", one(documents, "PodDisruptionBudget", "scyper")["spec"]["maxUnavailable"] == 1)


def check_settings(path, scyperd):
    code, said = run(scyperd, "--config", path, "--node-name", "scyper-0", "--advertise", "scyper-0.x:7400", "--peer-advertise",
                     "scyper-0.x:7402", "--print-config")
    expect(f"{path.parent.name}'s settings are known", code == 0 and '\nvoter_names = "scyper-0,scyper-1,scyper-2"\n' in said, said)


class ApiServer(http.server.BaseHTTPRequestHandler):
    """Takes the labels: {pod: role}."""
    labels = {}

    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pod = re.fullmatch("/api/v1/namespaces/here/pods/(.*)", self.path)
        known = pod and self.headers["Authorization"] == "Bearer secret" and self.headers["Content-Type"] == "application/merge-patch+json"
        if known:
            ApiServer.labels[pod.group(1)] = body["metadata"]["labels"]["scyper.io/role"]
        self.send_response(200 if known else 403)
        self.end_headers()

    def log_message(self, *_):
        pass


class Node:
    """A scyperd by scripts/node or by itself, with free ports."""

    def __init__(self, folder, name, command, environment=None):
        self.messages = folder / f"{name}.messages"
        with open(self.messages, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out, env={**os.environ, **(environment or {})})

    def port(self, pattern):
        pattern = re.compile(pattern)
        expect("a node says its ports", comes_true(pattern.pattern, lambda: pattern.search(self.messages.read_text()) or self.process.poll() is not None),
               self.messages.read_text())
        found = pattern.search(self.messages.read_text())
        return found.group(1) if found else "1"

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


class RoleScript:
    """scripts/role beside a node."""

    def __init__(self, folder, api, pod, http_port):
        self.pod = pod
        environment = {"NODE_HTTP": f"http://127.0.0.1:{http_port}", "SERVICE_ACCOUNT": str(folder), "PERIOD": "0.1",
                       "API": f"http://127.0.0.1:{api}", "POD_NAMESPACE": "here", "POD_NAME": pod}
        self.process = subprocess.Popen([SCRIPTS / "role"], env={**os.environ, **environment}, stdout=subprocess.DEVNULL)

    def expect(self, role):
        came = comes_true(role, lambda: ApiServer.labels.get(self.pod) == role)
        expect(f"the label of the {self.pod} is {role}", came, ApiServer.labels)

    def end(self):
        self.process.terminate()
        expect("the role's script ends when told", self.process.wait(timeout=PATIENCE_S) == 0)


def check_roles(folder, scyperd, api):
    """A primary and a secondary of it, then none."""
    (folder / "token").write_text("secret")
    (folder / "ca.crt").write_text("")
    (folder / "scyper.toml").write_text('listen = "127.0.0.1:0"\nhttp_listen = "127.0.0.1:0"\npartitions = 2\nworkers = 1\nmemory = "256MB"\n'
                                        'pages = "small"\n')
    config = ["--config", folder / "scyper.toml"]
    primary = Node(folder, "primary", [scyperd, *config, "--data-directory", folder / "primary", "--replication"])
    secondary = Node(folder, "secondary", [scyperd, *config, "--data-directory", folder / "secondary", "--role", "secondary", "--primary",
                                           f"127.0.0.1:{primary.port(GRPC)}"])
    scripts = [RoleScript(folder, api, "primary", primary.port(HTTP)), RoleScript(folder, api, "secondary", secondary.port(HTTP))]
    try:
        scripts[0].expect("primary")
        scripts[1].expect("replica")
    finally:
        secondary.end()
        expect("the primary ends as asked", primary.end() == 0, primary.messages.read_text())
    for script in scripts:
        script.expect("none")
        script.end()


def check_node_script(folder):
    """scripts/node passes the end on, waits for it, and ends as the node did."""
    program = folder / "bin" / "scyperd"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ntrap "echo told; sleep 0.3; echo over; exit 7" TERM\necho "arguments $*"\nwhile true; do sleep 0.1; done\n')
    program.chmod(0o755)
    node = Node(folder, "script", [SCRIPTS / "node", "--workers", "3"],
                {"PATH": f"{program.parent}:{os.environ['PATH']}", "POD_NAME": "scyper-0", "SERVICE_NAME": "scyper-nodes", "POD_NAMESPACE": "here"})
    comes_true("a node's arguments", lambda: "arguments" in node.messages.read_text())
    expect("a node knows its addresses", "--node-name scyper-0 --advertise scyper-0.scyper-nodes.here.svc:7400 --peer-advertise "
           "scyper-0.scyper-nodes.here.svc:7402 --workers 3" in node.messages.read_text(), node.messages.read_text())
    code = node.end()
    expect("its end is waited for and its exit code is the pod's", code == 7 and "told\nover\n" in node.messages.read_text(),
           (code, node.messages.read_text()))


def main(scyperd, scyper):
    for folder in (KUBERNETES / "base", KUBERNETES / "overlays/development", KUBERNETES / "overlays/production",
                   KUBERNETES / "overlays/rdma"):
        text, documents = documents_of(folder)
        check_schemas(folder.name, text)
        if can_render() or folder.name == "base":
            check_pod(documents)
            check_services(documents)
    check_settings(KUBERNETES / "base" / "scyper.toml", scyperd)
    check_settings(KUBERNETES / "overlays/development" / "scyper.toml", scyperd)
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        check_roles(pathlib.Path(name), scyperd, api.server_port)
        check_node_script(pathlib.Path(name))
    api.shutdown()
    code, said = run(SCRIPTS / "stop", env={**os.environ, "NODE_HTTP": "http://127.0.0.1:1", "PATH": f"{pathlib.Path(scyper).parent}:{os.environ['PATH']}"})
    expect("who is no primary hands nothing over", code == 0 and said == "", said)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
