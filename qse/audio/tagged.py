"""Files with tags of MP3 around their samples: MP3 itself, and FLAC."""

from functools import cached_property

from .ape import items_in
from .id3 import TOO_LARGE, Mp3Tags, frame_names, read_tags
from .id3_frames import repeated_frames
from .id3v1 import texts_in
from .inspection import Inspection
from .loudness import is_loudness
from .metadata_names import texts_of


class Tagged(Inspection):
    """A file that may have an ID3v2 tag at its beginning, APEv2 and ID3v1 tags at its end."""

    holds_cover = True

    @cached_property
    def tags(self) -> Mp3Tags:
        """Return these tags. Raises ValueError if they are larger than MOST_METADATA."""
        return read_tags(self.path)

    def repeated(self) -> list[str]:
        try:
            return repeated_frames(self.tags.front)
        except ValueError:
            return []

    def names(self) -> list[str]:
        try:
            return frame_names(self.tags)
        except ValueError:
            return [TOO_LARGE]

    def unread_at_end(self) -> list[str]:
        """Return names for the tags at the end whose texts ffprobe does not find: it does not read
        APEv2 there, nor ID3v1 behind other tags."""
        try:
            back = self.tags.back
        except ValueError:
            return []
        if not back or self.media is None:
            return []
        held = texts_of(self.media)
        found = []
        for item in items_in(back):
            is_held = not held.isdisjoint(map(str.strip, item.texts))
            found += [] if is_held or is_loudness(item.name) else [item.name]
        names = set(map(str.lower, self.media.tags))
        for name, text in texts_in(back).items():
            is_held = name in names or any(other.startswith(text) for other in held)
            found += [] if is_held else [f"{name} of ID3v1"]
        return found
