"""Write the groups of VALID and VALID48, for release_tables.py.

    python tools/validation_groups.py VALID/pairs.tsv VALID/groups.tsv

Reads the columns id, speaker, noise_class and snr_db. Writes id, speaker, snr_db, noise (kind of
noise), speech_source and noise_source.
"""

import argparse
from pathlib import Path

from repository_files import read_table

from qse.audio.atomic_write import write_text
from qse.audio.file_mode import Sources

SOURCES = {  # by the letters before the first hyphen of a speaker or class of noise
    "ls": "LibriSpeech",
    "so": "speechocean762",
    "gc": "GCompris",
    "kl": "KLettres",
    "kt": "KTuberling",
    "msc": "Malayalam Speech Corpus",
    "blanket": "Blanket",
    "esc50": "ESC-50",
    "moodist": "moodist",
}
KINDS = {
    "animals": "blanket-birds cat chirping_birds cow crickets crow dog dog_bark frog hen insects "
    "pig rooster sheep",
    "bells, horns, alarms": "car_horn church_bells clock_alarm siren",
    "household and short sounds": "can_opening clock_tick door_knock door_wood_creaks "
    "keyboard_typing mouse_click pouring_water toilet_flush",
    "human sounds": "baby_cry breathing brushing_teeth clapping coughing crying_baby "
    "drinking_sipping footsteps laughing person_sneeze sneezing snoring",
    "machines": "airplane blanket-train chainsaw engine hand_saw helicopter moodist-things train "
    "vacuum_cleaner washing_machine",
    "nature": "blanket-fireplace blanket-storm blanket-waves blanket-wind crackling_fire "
    "fire_crackling rain sea_waves water_drops wind",
    "streets, cafes, crowds": "blanket-city blanket-coffee-shop moodist-places moodist-urban",
    "various": "various",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
COLUMNS = ("id", "speaker", "snr_db", "noise", "speech_source", "noise_source")


def main() -> None:
    """Read the command line and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("groups", type=Path)
    given = parser.parse_args()

    lines = ["\t".join(COLUMNS)]
    with Sources([given.pairs]) as source:
        rows = read_table(given.pairs)
    for row in rows:
        kind = KIND_OF[row["noise_class"].removeprefix("esc50-")]
        sources = (source_of(row["speaker"]), source_of(row["noise_class"]))
        lines.append("\t".join((row["id"], row["speaker"], row["snr_db"], kind, *sources)))
    write_text(given.groups, "\n".join(lines) + "\n", source=source, is_named=True)


def source_of(name: str) -> str:
    """Return the collection that a speaker or class of noise comes from."""
    return SOURCES[name.partition("-")[0]]


if __name__ == "__main__":
    main()
