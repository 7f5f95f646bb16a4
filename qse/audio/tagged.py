"""Files with tags of MP3 around their samples: MP3 itself, and FLAC."""

from functools import cached_property

from .id3 import TOO_LARGE, Mp3Tags, frame_names, read_tags
from .id3_frames import repeated_frames
from .inspection import Inspection


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
