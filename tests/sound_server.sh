#!/usr/bin/env bash
# qse live through real sound servers without hardware, in about six minutes. Installs PulseAudio and PipeWire where they
# are missing and apt-get may; where that is not possible, says so and leaves the test out.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(pulseaudio pulseaudio-utils libasound2-plugins libportaudio2 pipewire pipewire-pulse wireplumber dbus)
if command -v apt-get >/dev/null && ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    if ! { timeout -k 9 120 apt-get update -qq &&
        timeout -k 9 300 apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null; }; then
        echo "SKIPPED: qse live through a sound server; could not be installed here: ${packages[*]}"
        exit 0
    fi
fi
QSE_SOUND_SERVER=1 exec timeout -k 9 900 "${PYTHON:-python}" -m pytest -q -s -rs tests/test_sound_server.py \
    tests/live/test_virtual_device.py tests/live/test_pulse_devices.py tests/live/test_full_band_server.py \
    tests/live/test_pipewire.py
