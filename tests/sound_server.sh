#!/usr/bin/env bash
# qse live through real sound servers without hardware: a selection in about three minutes; with --all everything, in
# about four minutes. Installs PulseAudio and PipeWire where they are missing and apt-get may; where that is not
# possible, says so and leaves the test out.
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
export QSE_SOUND_SERVER=selection
if [ "${1:-}" = --all ]; then QSE_SOUND_SERVER=all; fi

check() {
    timeout -k 9 600 "${PYTHON:-python}" -m pytest -q -s -p no:cacheprovider "$@"
}

# These mostly wait, each for a server of its own, so they run side by side; the one that counts dropouts runs alone.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
declare -A running
for part in virtual_device virtual_states virtual_speaker listeners_stay pulse_devices pulse_changes full_band_server pipewire; do
    check "tests/live/test_$part.py" >"$logs/$part" 2>&1 &
    running[$part]=$!
done
failed=0
for part in "${!running[@]}"; do
    wait "${running[$part]}" || failed=1
    cat "$logs/$part"
done
check tests/test_sound_server.py || failed=1
exit "$failed"
