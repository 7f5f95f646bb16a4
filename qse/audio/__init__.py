"""Audio files and arrays: reading, writing, formats, resampling."""
