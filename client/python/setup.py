"""Makes the gRPC code from proto/scyper.proto while the package is built; all else stands in pyproject.toml."""

import pathlib
import shutil
from importlib.metadata import version

import google.protobuf
from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
# of an unpacked source distribution, of the repository
PROTOS = [HERE / "proto" / "scyper.proto", HERE.parents[1] / "proto" / "scyper.proto"]
PROTO = next((path for path in PROTOS if path.exists()), PROTOS[-1])


def generate(target: pathlib.Path) -> None:
    """The modules scyper.proto.scyper_pb2 and scyper_pb2_grpc, which import each other by those names."""
    package = target / "scyper" / "proto"
    package.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROTO, package)
    arguments = ["protoc", f"-I{target}", f"--python_out={target}", f"--pyi_out={target}", f"--grpc_python_out={target}"]
    if protoc.main([*arguments, str(package / "scyper.proto")]) != 0:
        raise SystemExit(f"no code could be made from {PROTO}")
    (package / "scyper.proto").unlink()


class BuildWithProto(build_py):
    def run(self) -> None:
        generate(HERE / "src" if self.editable_mode else pathlib.Path(self.build_lib))
        super().run()


class SourceWithProto(sdist):
    def make_release_tree(self, base_dir: str, files: list) -> None:
        super().make_release_tree(base_dir, files)
        (pathlib.Path(base_dir) / "proto").mkdir(exist_ok=True)
        shutil.copy(PROTO, pathlib.Path(base_dir) / "proto")


# Generated code runs on what made it, and on what is newer.
setup(
    cmdclass={"build_py": BuildWithProto, "sdist": SourceWithProto},
    install_requires=[f"grpcio>={version('grpcio-tools')}", f"protobuf>={google.protobuf.__version__}",
                      "googleapis-common-protos>=1.56"],
)
