"""Synthesise ten German and ten English sentences with four voices each: FOLDER/de, FOLDER/en.

    apt-get install espeak-ng
    python assets/languages.py FOLDER

Mix both with the same noise (`qse mix`) and evaluate, to compare a model between the two languages.
"""

import itertools
import subprocess
import sys
from pathlib import Path

from qse.audio.replaced_folder import new_folder

VOICES = ("m2", "m3", "f2", "f4")
SENTENCES = {
    "de": (
        "Guten Morgen, der Zug zum Hafen fährt heute eine Viertelstunde später ab.",
        "Könnten Sie das Fenster schließen? Draußen wird seit acht Uhr die Straße aufgerissen.",
        "Zwei Tassen Kaffee, ein Glas Wasser und die Rechnung, bitte.",
        "Meine Schwester hat gestern den ganzen Nachmittag im Garten gearbeitet.",
        "Wir nehmen lieber den anderen Weg am Fluss entlang, bevor es zu regnen beginnt.",
        "Der Arzt hat gesagt, dass ich mich noch drei Tage ausruhen soll.",
        "Im Keller brummt der neue Kühlschrank lauter als der alte.",
        "Hast du die Schlüssel gefunden, oder sollen wir noch einmal zurückgehen?",
        "Das Konzert war ausverkauft, aber an der Kasse gab es noch fünf Karten.",
        "Ich rufe dich zurück, sobald ich aus der Besprechung komme.",
    ),
    "en": (
        "Good morning, the train to the harbour leaves a quarter of an hour late today.",
        "Could you close the window? They have been digging up the street since eight o'clock.",
        "Two cups of coffee, a glass of water and the bill, please.",
        "My sister worked in the garden for the whole of yesterday afternoon.",
        "We had better take the other road along the river, before it begins to rain.",
        "The doctor said that I should rest for another three days.",
        "In the cellar the new refrigerator hums louder than the old one.",
        "Have you found the keys, or shall we go back once more?",
        "The concert was sold out, but there were five tickets left at the door.",
        "I will call you back as soon as I am out of the meeting.",
    ),
}


def main(folder: Path) -> None:
    with new_folder(folder) as made:
        for language, voice in itertools.product(SENTENCES, VOICES):
            place = made / language / voice
            place.mkdir(parents=True)
            for number, text in enumerate(SENTENCES[language]):
                path = str(place / f"{number}.wav")
                line = ["espeak-ng", "-v", f"{language}+{voice}", "-w", path, text]
                subprocess.run(line, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
