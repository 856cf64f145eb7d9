# SPDX-License-Identifier: Apache-2.0
"""scripts/release in a small repository of its own, with packages of a few lines; and scripts/sbom, whose output is
held to CycloneDX' own schema."""

import copy
import hashlib
import json
import os
import pathlib
import re
import shutil
import unittest

import jetmem_testing as jt
import stub_package

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMAS = pathlib.Path(__file__).parent / "node_modules/@cyclonedx/cyclonedx-library/res/schema"
LOCK = """# name, version, path, SHA-256
libc6-dev 2.31-13+deb11u11 pool/x.deb 00
libcli11-dev 2.1.2+ds-1 pool/x.deb 00
libexpected-dev 1.0.0-1 pool/x.deb 00
libfmt-dev 9.1.0+ds1-2 pool/x.deb 00
libgcc-10-dev 10.2.1-6 pool/x.deb 00
libgnutls28-dev 3.7.1-5+deb11u5 pool/x.deb 00
libmicrohttpd-dev 0.9.72-2 pool/x.deb 00
libspdlog-dev 1:1.10.0+ds-0.4 pool/x.deb 00
libyaml-cpp-dev 0.7.0+dfsg-8+b1 pool/x.deb 00
nlohmann-json3-dev 3.11.2-2 pool/x.deb 00
"""
FILES = ("scripts/release", "scripts/usage.sh", "scripts/tarball", "scripts/sbom", "packaging/tarball/install",
         "packaging/ceilings", "packaging/ceilings.toml", "page/package-lock.json", "CMakeLists.txt")
CHANGELOG = """# Changelog

## Unreleased

### Added
- Not yet.

## {version}

### Fixed
- A thing that was wrong.

## 0.0.1

- The first.
"""


def validator():
    if jsonschema is None:
        raise unittest.SkipTest("python3-jsonschema is not installed")
    if not SCHEMAS.is_dir():
        raise unittest.SkipTest("scripts/fetch-npm tests/release was not run: no schema")
    read = {path.name.replace(".SNAPSHOT", ""): json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    store = {each["$id"]: each for each in read.values() if "$id" in each}
    schema = read["bom-1.6.schema.json"]
    store.update({f"http://cyclonedx.org/schema/{name}": each for name, each in read.items()})
    store.update({f"http://cyclonedx.org/schema/{path.name}": json.loads(path.read_text())
                  for path in SCHEMAS.glob("*.json")})
    return jsonschema.Draft7Validator(schema, resolver=jsonschema.RefResolver(schema["$id"], schema, store=store))


class Repository(unittest.TestCase):
    """A clean one, with a version and its packages."""

    @classmethod
    def setUpClass(cls):
        cls.packages = jt.temp_directory(cls)
        cls.version = re.search(r"^project\(jetmem VERSION ([\d.]+)", (stub_package.PROJECT / "CMakeLists.txt").read_text(),
                                re.M)[1]
        work = jt.temp_directory(cls)
        cls.deb = stub_package.stub(work, cls.version)
        root = work / "again"
        stub_package.check("dpkg-deb", "-R", cls.deb, root)
        for package, arch in (("jetmem", "amd64"), ("jetmem", "arm64"), ("jetmem-dashboards", "all")):
            control = root / "DEBIAN/control"
            text = re.sub("(?m)^Architecture: .*", f"Architecture: {arch}", control.read_text())
            control.write_text(re.sub("(?m)^Package: .*", f"Package: {package}", text))
            stub_package.check("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", root,
                               cls.packages / f"{package}_{cls.version}_{arch}.deb")

    def setUp(self):
        for arch in ("amd64", "arm64"):
            if arch != stub_package.ARCH and stub_package.run(
                    ["dpkg-query", "-W", f"libstdc++-12-dev-{arch}-cross"]).returncode:
                self.skipTest(f"libstdc++-12-dev-{arch}-cross is not installed: scripts/bootstrap --cross")
        self.top = jt.temp_directory(self) / "checkout"
        for name in FILES:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(stub_package.PROJECT / name, self.top / name)
        shutil.copytree(stub_package.PROJECT / "packaging/exports", self.top / "packaging/exports")
        (self.top / "packaging/sysroot").mkdir()
        for arch in ("amd64", "arm64"):
            (self.top / f"packaging/sysroot/{arch}.lock").write_text(LOCK)
        (self.top / "CHANGELOG.md").write_text(CHANGELOG.format(version=self.version))
        (self.top / ".gitignore").write_text("/build/\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.commit()

    def git(self, *words):
        stub_package.check("git", "-C", self.top, *words)

    def commit(self):
        self.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-a", "-m", "x")

    def release(self, *words):
        return stub_package.run([self.top / "scripts/release", *words])

    def refused(self, *words):
        done = self.release(*words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse((self.top / "build").exists(), "nothing is made")
        return done.stderr


class Release(Repository):
    def test_all_of_it_twice(self):
        made = []
        for name in ("one", "two"):
            out = self.top / "build" / name
            done = self.release(self.version, "--packages", self.packages, "--out", out)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            made.append({path.name: path.read_bytes() for path in out.iterdir()})
        version = self.version
        self.assertEqual(set(made[0]), {
            f"jetmem_{version}_amd64.deb", f"jetmem_{version}_arm64.deb", f"jetmem-dashboards_{version}_all.deb",
            f"jetmem-{version}-linux-amd64.tar.xz", f"jetmem-{version}-linux-arm64.tar.xz",
            f"jetmem-{version}-linux-amd64.cdx.json", f"jetmem-{version}-linux-arm64.cdx.json",
            "release-notes.md", "SHA256SUMS"})
        for name in made[0]:
            self.assertEqual(made[0][name], made[1][name], name)
        sums = dict(reversed(line.split("  ")) for line in made[0]["SHA256SUMS"].decode().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256(data).hexdigest()
                                for name, data in made[0].items() if name != "SHA256SUMS"})
        notes = made[0]["release-notes.md"].decode()
        self.assertIn("A thing that was wrong.", notes)
        self.assertNotIn("Not yet.", notes)
        self.assertNotIn("The first.", notes)
        # Only into a folder of its own.
        done = self.release(self.version, "--packages", self.packages, "--out", self.top / "build/one")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not empty", done.stderr)

    def test_refused(self):
        self.assertIn("CHANGELOG.md has no section '## 7.8.9'", self.refused("7.8.9"))
        self.assertIn("is no version", self.refused("next"))
        (self.top / "scripts/new").write_text("")
        self.assertIn("scripts/new", self.refused(self.version), "git does not know it")
        (self.top / "scripts/new").unlink()
        # A release of a version that the programs do not have.
        (self.top / "CHANGELOG.md").write_text(CHANGELOG.format(version="7.8.9"))
        self.assertIn("not committed", self.refused("7.8.9"))
        self.commit()
        self.assertIn(f"has version {self.version}", self.refused("7.8.9"))
        (self.top / "CHANGELOG.md").write_text(f"# Changelog\n\n## {self.version}\n\n## 0.0.1\n\n- The first.\n")
        self.commit()
        self.assertIn("nothing in it", self.refused(self.version))

    def test_a_package_is_missing(self):
        some = jt.temp_directory(self)
        shutil.copy(self.packages / f"jetmem_{self.version}_amd64.deb", some)
        done = self.release(self.version, "--packages", some)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"jetmem_{self.version}_arm64.deb", done.stderr)


class Sbom(Repository):
    def sbom(self, deb, **environment):
        return stub_package.run([self.top / "scripts/sbom", deb], env={**os.environ, **environment})

    def test_holds_to_the_schema(self):
        valid = validator()
        for arch in ("amd64", "arm64"):
            bom = json.loads(self.sbom(self.packages / f"jetmem_{self.version}_{arch}.deb").stdout)
            self.assertEqual([f"{list(error.path)}: {error.message}" for error in valid.iter_errors(bom)], [])
        # And what does not is found.
        for mistake in (lambda bom: bom["components"][0].pop("name"),
                        lambda bom: bom["components"][0].update(licenses=[{"license": {"id": "No-Such-Licence"}}]),
                        lambda bom: bom["metadata"].update(timestamp=5),
                        lambda bom: bom.update(serialNumber="5")):
            wrong = copy.deepcopy(bom)
            mistake(wrong)
            self.assertTrue(list(valid.iter_errors(wrong)))

    def test_what_is_in_it(self):
        done = self.sbom(self.deb, SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.sbom(self.deb, SOURCE_DATE_EPOCH="1700000000").stdout, done.stdout)
        bom = json.loads(done.stdout)
        self.assertEqual(bom["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
        found = {each["bom-ref"]: each for each in bom["components"]}
        self.assertEqual(set(found), {
            "file:usr/bin/jetmemd", "system:glibc", "system:GnuTLS", "system:libmicrohttpd", "static:CLI11", "static:fmt",
            "static:libstdc++", "static:nlohmann-json", "static:spdlog", "static:tl-expected", "static:uPlot",
            "static:yaml-cpp"})
        self.assertEqual(found["static:yaml-cpp"]["version"], "0.7.0")
        self.assertEqual(found["static:spdlog"]["purl"], "pkg:deb/debian/libspdlog-dev@1%3A1.10.0%2Bds-0.4?arch="
                         + stub_package.ARCH)
        told = {each["name"]: each["value"] for each in found["system:GnuTLS"]["properties"]}
        self.assertEqual(told, {"jetmem:linkage": "dynamic", "jetmem:sonames": "libgnutls.so.30",
                                "jetmem:minimum_version".replace("_", "-"): "3.6.13",
                                "jetmem:built-with": "3.7.1-5+deb11u5"})
        uses = {each["ref"]: each["dependsOn"] for each in bom["dependencies"]}
        self.assertEqual(uses["file:usr/bin/jetmemd"], ["system:GnuTLS", "system:glibc", "system:libmicrohttpd"])
        self.assertIn("static:fmt", uses[f"jetmem-{stub_package.ARCH}"])

    def changed(self, program, *options):
        """The package with another program in place of jetmemd."""
        root = jt.temp_directory(self) / "deb"
        stub_package.check("dpkg-deb", "-R", self.deb, root)
        source = root.parent / "program.c"
        source.write_text(program)
        stub_package.check("cc", "-o", root / "usr/bin/jetmemd", source, *options)
        stub_package.check("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", root, root.parent / "x.deb")
        return root.parent / "x.deb"

    def test_a_static_program(self):
        bom = json.loads(self.sbom(self.changed("int main(void) { return 0; }", "-static")).stdout)
        uses = {each["ref"]: each["dependsOn"] for each in bom["dependencies"]}
        self.assertEqual(uses["file:usr/bin/jetmemd"], ["static:glibc", "static:libgcc", "static:libstdc++"])
        self.assertEqual({each["bom-ref"]: each.get("version") for each in bom["components"]}["static:glibc"], "2.31")

    def test_an_unknown_library(self):
        folder = jt.temp_directory(self)
        library = stub_package.compile_library(folder, "libnobody.so.1", "int nobody(void) { return 0; }")
        done = self.sbom(self.changed("int nobody(void); int main(void) { return nobody(); }", library))
        self.assertEqual(done.returncode, 1)
        self.assertIn("libnobody.so.1", done.stderr)
        # And without a version there is no guess.
        lock = self.top / f"packaging/sysroot/{stub_package.ARCH}.lock"
        lock.write_text(LOCK.replace("libfmt-dev", "x"))
        done = self.sbom(self.deb)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("libfmt-dev", done.stderr)


if __name__ == "__main__":
    jt.main()
