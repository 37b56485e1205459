"""Messages and services of proto/scyper.proto: setup.py makes the modules here while the package is built."""
