package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrFormat is wrapped by errors of Parse16 about truncated files, and files that are not WAV.
var ErrFormat = errors.New("WAV file")

// Sound16 is the content of a file of 16-bit samples.
type Sound16 struct {
	Rate, Channels int
	Samples        []byte // two bytes each; the channels are interleaved
}

// Parse16 reads a file of 16-bit PCM samples like TensorFlow's DecodeWav, and refuses all others. It copies nothing.
func Parse16(b []byte) (Sound16, error) {
	var s Sound16
	if len(b) < 36 || string(b[:4]) != "RIFF" || string(b[8:16]) != "WAVEfmt " {
		return s, fmt.Errorf("%w: header mismatch: expected RIFF, WAVE and fmt in %d bytes", ErrFormat, len(b))
	}
	le, form := binary.LittleEndian, b[20:36]
	size := le.Uint32(b[16:])
	s.Channels, s.Rate = int(le.Uint16(form[2:])), int(le.Uint32(form[4:]))
	second, sample, depth := le.Uint32(form[8:]), int(le.Uint16(form[12:])), int(le.Uint16(form[14:]))
	switch {
	case size != 16 && size != 18:
		return s, fmt.Errorf("Bad format chunk size for WAV: Expected 16 or 18, but got %d", size)
	case le.Uint16(form) != 1:
		return s, fmt.Errorf("Bad audio format for WAV: Expected 1 (PCM), but got %d", le.Uint16(form))
	case s.Channels < 1:
		return s, fmt.Errorf("Bad number of channels for WAV: Expected at least 1, but got %d", s.Channels)
	case depth != 16:
		return s, fmt.Errorf("Can only read 16-bit WAV files, but received %d", depth)
	case sample != (depth*s.Channels+7)/8:
		return s, fmt.Errorf("Bad bytes per sample in WAV header: Expected %d but got %d", (depth*s.Channels+7)/8, sample)
	case second != uint32(sample)*uint32(s.Rate):
		return s, fmt.Errorf("Bad bytes per second in WAV header: Expected %d but got %d", uint32(sample)*uint32(s.Rate), second)
	}
	return s, s.chunks(b[min(20+int(size), len(b)):], sample)
}

// chunks finds the data chunk.
func (s *Sound16) chunks(b []byte, sample int) error {
	found := false
	for len(b) > 0 {
		if len(b) < 8 {
			return fmt.Errorf("%w: data too short when trying to read a chunk", ErrFormat)
		}
		size := int(binary.LittleEndian.Uint32(b[4:]))
		id := string(b[:4])
		b = b[8:]
		if size > math.MaxInt32 {
			return fmt.Errorf("%w: chunk of %d bytes", ErrFormat, size)
		}
		if id == "data" {
			if found {
				return fmt.Errorf("More than one data chunk found in WAV")
			}
			found = true
			size = size / sample * sample
			if size <= len(b) {
				s.Samples = b[:size]
			}
		}
		if size > len(b) {
			return fmt.Errorf("%w: data too short: a chunk of %d bytes has %d", ErrFormat, size, len(b))
		}
		b = b[size:]
	}
	if !found {
		return fmt.Errorf("No data chunk found in WAV")
	}
	return nil
}
