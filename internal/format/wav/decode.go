package wav

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The format codes.
const (
	codePCM        = 1
	codeFloat      = 3
	codeExtensible = 0xfffe // the code is the first two bytes of a longer ID
)

// maxRate and maxChannels bound what a file may claim.
const (
	maxRate     = 1 << 20
	maxChannels = 256
)

// Sound is a decoded header with the samples as stored.
type Sound struct {
	Rate, Channels int
	bits           int
	float          bool
	data           []byte // whole frames
}

var errKind = errors.New("it is not a WAV file: it does not begin with RIFF and WAVE")

// Decode reads the header of a file. It copies nothing: b must not change.
func Decode(b []byte) (*Sound, error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errKind
	}
	var s *Sound
	for rest := b[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		body := rest[:min(size, int64(len(rest)))]
		switch id {
		case "fmt ":
			var err error
			if s, err = parseFormat(body); err != nil {
				return nil, err
			}
		case "data":
			if s == nil {
				return nil, errors.New("its samples come before its format: the file is damaged")
			}
			if size > int64(len(rest)) && size != math.MaxUint32 { // programs that do not know the size write it
				return nil, fmt.Errorf("it is cut short: its header says %d bytes of samples, and %d are there", size, len(rest))
			}
			s.data = body[:len(body)/s.frame()*s.frame()]
			return s, nil
		}
		rest = rest[min(size+size%2, int64(len(rest))):]
	}
	return nil, errors.New("it has no samples: the file is cut short")
}

// parseFormat reads the format chunk.
func parseFormat(b []byte) (*Sound, error) {
	if len(b) < 16 {
		return nil, fmt.Errorf("its format has %d bytes, expected 16: the file is damaged", len(b))
	}
	le := binary.LittleEndian
	code, bits := int(le.Uint16(b)), int(le.Uint16(b[14:]))
	s := &Sound{Channels: int(le.Uint16(b[2:])), Rate: int(min(le.Uint32(b[4:]), math.MaxInt32)), bits: bits}
	if code == codeExtensible && len(b) >= 26 {
		code = int(le.Uint16(b[24:]))
	}
	s.float = code == codeFloat
	switch {
	case code == codePCM && (bits == 8 || bits == 16 || bits == 24 || bits == 32):
	case code == codeFloat && (bits == 32 || bits == 64):
	default:
		return nil, fmt.Errorf("its samples are of format %d with %d bits, expected PCM (1) of 8, 16, 24 or 32 bits or floats (3) of 32 or 64: convert it, for example with ffmpeg -c:a pcm_s16le", code, bits)
	}
	if s.Channels < 1 || s.Channels > maxChannels || s.Rate < 1 || s.Rate > maxRate {
		return nil, fmt.Errorf("it has %d channels of %d samples a second, expected 1 to %d of 1 to %d: the file is damaged", s.Channels, s.Rate, maxChannels, maxRate)
	}
	if got := int(le.Uint16(b[12:])); got != s.frame() {
		return nil, fmt.Errorf("%d channels of %d bits take %d bytes, its header says %d: the file is damaged", s.Channels, bits, s.frame(), got)
	}
	return s, nil
}

// frame is the number of bytes of one sample of all channels.
func (s *Sound) frame() int { return s.Channels * s.bits / 8 }

// Frames returns the number of samples per channel.
func (s *Sound) Frames() int { return len(s.data) / s.frame() }

// At returns a sample: from -1 to 1 for integers, as stored for floats.
func (s *Sound) At(frame, channel int) float32 {
	b := s.data[frame*s.frame()+channel*s.bits/8:]
	le := binary.LittleEndian
	switch {
	case s.float && s.bits == 64:
		return float32(math.Float64frombits(le.Uint64(b)))
	case s.float:
		return math.Float32frombits(le.Uint32(b))
	case s.bits == 8: // the only unsigned one
		return (float32(b[0]) - 128) / 128
	case s.bits == 16:
		return float32(int16(le.Uint16(b))) / (1 << 15)
	case s.bits == 24:
		return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	}
	return float32(float64(int32(le.Uint32(b))) / (1 << 31))
}
