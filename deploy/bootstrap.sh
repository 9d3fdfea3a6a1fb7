#!/bin/sh
# Makes sure that the machine has what Python packages cannot bring: Java, Maven, Rust, a C linker, and a Python
# from 3.11 on. On Debian as root it installs what is missing; elsewhere it says what to install, and exits with 2.
# `make` calls it; standard output is the path of the Python to use.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

# The distribution's Python comes first: it is an optimised build, which those made by version managers often are not.
find_python() {
  for candidate in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# The engine's tests link against Python, which takes its development files.
has_headers() {
  "$(find_python || echo python3)" -c \
    'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null
}

rust_packages() {
  # Debian 12 has a current Rust under these names, beside an old one under the usual names.
  if apt-cache show cargo-web >/dev/null 2>&1; then
    echo cargo-web rustfmt-web rust-web-clippy
  else
    echo cargo rustfmt rust-clippy
  fi
}

missing=""
has java || missing="$missing default-jre-headless"
has mvn || missing="$missing maven"
has cc || missing="$missing gcc libc6-dev"
find_python >/dev/null || missing="$missing python3-venv"
has_headers || missing="$missing python3-dev"
has cargo || missing="$missing cargo"

if [ -n "$missing" ]; then
  if ! has apt-get || [ "$(id -u)" != 0 ]; then
    echo "Install these first (the names are Debian's packages, cargo from 1.85 on):$missing." >&2
    exit 2
  fi
  apt-get update -qq >&2
  has cargo || missing="${missing% cargo} $(rust_packages)"
  echo "installing$missing" >&2
  # shellcheck disable=SC2086 # a list of packages
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
fi

if ! find_python; then
  echo "Python 3.11 or newer with its venv module is needed." >&2
  exit 2
fi
