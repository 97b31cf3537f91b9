# This file lists every dependency with the version that is needed. Scripts and the Makefile source it. After
# the version of a Python package changes, run lock.sh: it notes the digests of all files that setup.sh
# installs.

# Debian packages are written NAME or NAME>=VERSION. VERSION is the lowest version that is known to work. All
# versions in Debian 12 are high enough.
packages_build="g++>=4:12 cmake>=3.25 ninja-build ccache make pkg-config python3>=3.11 python3-venv git ca-certificates"
packages_core="nlohmann-json3-dev>=3.11 libsodium-dev>=1.0.18 libcli11-dev>=2.1 libgtest-dev>=1.12 libgmock-dev>=1.12 libglpk-dev>=5.0"
packages_pictures="libcairo2-dev>=1.16 libgraphviz-dev>=2.42 fonts-dejavu-core"
# The command `rematlas serve` needs an HTTP library.
packages_serve="libmicrohttpd-dev>=0.9.75"
packages_explorer="qtbase5-dev>=5.15 libqt5svg5-dev>=5.15 qttools5-dev>=5.15 qttools5-dev-tools>=5.15 xvfb xauth"
packages_appimage="squashfs-tools>=1:4.5 libsquashfuse-dev>=0.1.105 libzstd-dev liblzma-dev liblz4-dev liblzo2-dev zlib1g-dev"
packages_docs="python3>=3.11 python3-venv ca-certificates"
# Tests open the pages of reports in this browser, which takes 120 MB.
packages_browser="chromium"

# Python packages of .venv, apart from torch and torchvision: transformers and timm have the models of some
# tests. Without expecttest, torch's list of ops and of their sample inputs cannot be imported. ruff formats
# and checks Python, and lizard measures the lengths of functions. highspy has the library HiGHS, and highsbox
# has its headers.
torch_default=2.15.0
torch_oldest=2.11.0
python_packages_any_torch="numpy==2.4.6 pillow==13.0.0 transformers==5.23.0 timm==1.0.31 expecttest==0.3.0"
python_packages_tools="ruff==0.17.6 lizard==1.24.3"
python_packages_highs="highspy==1.15.1 highsbox==1.15.1"
python_installer=uv==0.13.9

# These Python packages of .venv-docs build the documentation.
python_packages_docs="mkdocs==1.6.1 mkdocs-material==9.8.2"

# This table has the version of torchvision that fits each version of torch.
declare -A torchvision_of=([2.11.0]=0.26.0 [2.12.1]=0.27.1 [2.13.0]=0.28.0 [2.14.1]=0.29.1 [2.15.0]=0.29.2)
