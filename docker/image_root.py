#!/usr/bin/env python3
"""Makes the file system of an image: a component of the build, what its programs load, and a list of what is in it.

usage: image_root.py BUILD COMPONENT FOLDER

COMPONENT is operator, trainer-cpu or trainer (for GPUs). The machine must run Debian, as the build stage of the Dockerfile does: the
shared libraries are taken from its packages. Nothing else of Debian is in an image, not even a shell.

  /usr/local               the component, as `cmake --install` lays it out, without debugging information
  /usr/lib, /lib64         the shared libraries and the loader
  /usr/share/doc           the licences of the packages and wheels of which a file is here
  /usr/share/sailor        sbom.cdx.json: all that the programs are made of, in CycloneDX 1.5
  /var/lib/dpkg/status.d   the same packages for vulnerability scanners
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

SOURCES = pathlib.Path(__file__).resolve().parent.parent
USER = 65532
IN_THE_IMAGE, COMPILED_IN = "file in the image", "compiled in"
# Of each component: its programs by their name in the build, and the folders of sources that are compiled into them.
PROGRAMS = {"operator": {"sailor-operator": "sailor-operator", "sailor": "sailor"},
            "trainer-cpu": {"sailor-trainer": "sailor-trainer"},
            "trainer": {"sailor-trainer-gpu": "sailor-trainer"}}
OPERATOR_SOURCES = ("core", "planner", "simulator", "report", "operator", "cli", "sailor_frequent_headers.dir")
TRAINER_SOURCES = ("core", "trainer", "sailor_frequent_headers.dir")
COMPILED = {"operator": OPERATOR_SOURCES, "trainer-cpu": TRAINER_SOURCES, "trainer": TRAINER_SOURCES}
WHEELS = {"operator": (), "trainer-cpu": ("scripts/wheels.txt",), "trainer": ("scripts/wheels.txt", "scripts/wheels-cuda.txt")}
ACCOUNTS = {"etc/passwd": f"root:x:0:0:root:/:/sbin/nologin\nsailor:x:{USER}:{USER}:sailor:/:/sbin/nologin\n",
            "etc/group": f"root:x:0:\nsailor:x:{USER}:\n",
            "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}
BILL = "usr/share/sailor/sbom.cdx.json"
# What programs read, but do not name as a library.
DATA = ("/usr/lib/os-release", "/etc/ssl/certs/ca-certificates.crt")
MAKERS_OF_DATA = {"ca-certificates"}  # dpkg does not know what a package makes when it is installed
LINKS = {"lib": "usr/lib", "lib64": "usr/lib64", "etc/os-release": "../usr/lib/os-release",
         "usr/lib/ssl/cert.pem": "/etc/ssl/certs/ca-certificates.crt"}  # where OpenSSL looks


def output(*command, may_fail=False):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        sys.exit(f"image_root.py: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def install(build, component, root):
    """Installs the programs and LibTorch without their symbols, and returns the programs. CUDA's libraries may not be changed."""
    output("cmake", "--install", build, "--component", component, "--strip", "--prefix", root / "usr/local")
    folder = root / "usr/local/bin"
    for built, name in PROGRAMS[component].items():
        if not (folder / built).exists():
            sys.exit(f"image_root.py: {build} is not configured to install {built}; for GPUs configure it with `cmake --preset gpu`")
        (folder / built).rename(folder / name)
    for library in (root / "usr/local/lib/sailor/torch").glob("lib/lib*torch*.so"):
        output("strip", "--strip-unneeded", library)
    return [folder / name for name in PROGRAMS[component].values()]


def loaded_libraries(programs):
    """Returns the absolute paths of all shared libraries that the programs load, and of their loader."""
    libraries = set()
    for program in programs:
        for line in output("ldd", program).splitlines():
            if "not found" in line:
                sys.exit(f"image_root.py: {program.name} misses a library: {line.strip()}; install what scripts/setup.sh installs")
            match = re.search(r"(/\S+) \(0x", line)
            if match:
                libraries.add(pathlib.Path(match.group(1)))
    return libraries


def copy_from_machine(path, root):
    """Copies a file to the same place. /lib is a link to /usr/lib, here and there. Returns the file itself, at the end of all links."""
    place = path.parent.resolve() / path.name
    copy = root / place.relative_to("/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)
    copy.chmod(0o755 if ".so" in path.name else 0o644)
    return path.resolve()


def owners(files):
    """Returns the Debian packages of the files; those that belong to none are left out."""
    names = {str(file) for file in files}
    names |= {name.removeprefix("/usr") for name in names}  # packages that name /lib/...
    packages = set()
    for line in output("dpkg-query", "--search", *sorted(names), may_fail=True).splitlines():
        packages |= {package.strip() for package in line.rpartition(": ")[0].split(",")}
    return packages


def compiled_headers(build, component):
    """Returns the headers of this machine that were compiled into the component: ninja knows of each object what was read for it."""
    headers, is_ours = set(), False
    ours = tuple(f"{folder}/" for folder in COMPILED[component])
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line[0].isspace():
            is_ours = line.startswith(ours)
        elif is_ours and line.strip().startswith("/usr/"):
            headers.add(pathlib.Path(line.strip()).resolve())
    if not headers:
        sys.exit(f"image_root.py: {build} does not say what it was compiled from; build it with ninja")
    return headers


def describe_package(package, use):
    fields = output("dpkg-query", "--show", "--showformat=${Package}\t${Version}\t${Architecture}\t${source:Package}", package).split("\t")
    name, version, architecture, source = fields
    return {"type": "library", "bom-ref": f"deb:{name}", "name": name, "version": version,
            "purl": f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version)}?arch={architecture}&distro=debian-12",
            "properties": [{"name": "sailor:use", "value": use}, {"name": "sailor:source-package", "value": source}]}


def wheels(component):
    """Returns name, version and SHA-256 of the wheels from which the component has libraries."""
    lines = "".join((SOURCES / file).read_text(encoding="utf-8") for file in WHEELS[component])
    return re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:(\w+)", lines, re.MULTILINE)


def files_of_wheel(name, version):
    """Returns what the wheel brought to this machine: pip's list, relative to the folder of each copy."""
    for record in SOURCES.glob(f".deps/*/{name.replace('-', '_')}-{version}.dist-info/RECORD"):
        for line in record.read_text(encoding="utf-8").splitlines():
            yield record.parent.parent / line.split(",")[0]


def describe_wheel(name, version, digest):
    has_library = any(".so" in file.name for file in files_of_wheel(name, version))
    return {"type": "library", "bom-ref": f"pypi:{name}", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
            "hashes": [{"alg": "SHA-256", "content": digest}],
            "properties": [{"name": "sailor:use", "value": IN_THE_IMAGE if has_library else COMPILED_IN}]}


def project_version():
    return re.search(r"^project\(sailor VERSION (\S+)", (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE).group(1)


def bill_of_materials(component, packages, compiled):
    parts = [describe_package(package, IN_THE_IMAGE) for package in sorted(packages)]
    parts += [describe_package(package, COMPILED_IN) for package in sorted(compiled)]
    parts += [describe_wheel(*wheel) for wheel in wheels(component)]
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "container", "bom-ref": "image", "name": f"sailor-{component}", "version": project_version(),
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": parts}


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o644)


def add_licences(name, files, root):
    """Gathers the licences of a package where Debian's packages have them."""
    if not files:
        sys.exit(f"image_root.py: no licence of {name} is on this machine, so it cannot be in an image; run scripts/setup.sh")
    for file in files:
        write(root / "usr/share/doc" / name / file.name, file.read_text(encoding="utf-8", errors="replace"))


def add_package(package, root):
    name = package.partition(":")[0]
    add_licences(name, list(pathlib.Path("/usr/share/doc", name).glob("copyright")), root)
    write(root / "var/lib/dpkg/status.d" / name, output("dpkg-query", "--status", package))


def add_wheel(name, version, root):
    is_licence = re.compile("licen[cs]e|notice", re.IGNORECASE)
    add_licences(name, [file for file in files_of_wheel(name, version) if is_licence.match(file.name)], root)


def forget_times(root):
    """The same files make the same layer, whenever they were installed."""
    for folder, _, names in os.walk(root):
        for name in (".", *names):
            os.utime(os.path.join(folder, name), (0, 0), follow_symlinks=False)


def make_empty(root):
    for name in ("etc", "tmp", "usr/lib64", "usr/lib/ssl"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    for name, text in ACCOUNTS.items():
        write(root / name, text)


def fill(root, build, component):
    libraries = loaded_libraries(install(build, component, root))
    of_machine = [path for path in (*sorted(libraries), *map(pathlib.Path, DATA)) if root not in path.parents]
    packages = owners(copy_from_machine(path, root) for path in of_machine) | MAKERS_OF_DATA
    for package in packages:
        add_package(package, root)
    for name, version, _ in wheels(component):
        add_wheel(name, version, root)
    add_licences("sailor", [SOURCES / "LICENSE"], root)
    bill = bill_of_materials(component, packages, owners(compiled_headers(build, component)))
    write(root / BILL, json.dumps(bill, indent=1) + "\n")
    forget_times(root)


def main(build, component, folder):
    if folder.exists() and not (folder / BILL).exists():
        sys.exit(f"image_root.py: {folder} exists and is no image's file system; name another folder")
    new = folder.with_name(folder.name + ".part")
    shutil.rmtree(new, ignore_errors=True)
    make_empty(new)
    fill(new, build, component)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in PROGRAMS:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3]).resolve())
