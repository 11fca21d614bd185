package eager

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// sound is what a WAV file of 16-bit samples has.
type sound struct {
	rate, channels int
	samples        []byte // two bytes each, channel by channel
}

// parseWav reads a RIFF file of PCM samples of 16 bits; nothing is copied.
func parseWav(b []byte) (sound, error) {
	var s sound
	if len(b) < 36 || string(b[:4]) != "RIFF" || string(b[8:16]) != "WAVEfmt " {
		return s, fmt.Errorf("%w: header mismatch: expected RIFF, WAVE and fmt in %d bytes", errWav, len(b))
	}
	le, form := binary.LittleEndian, b[20:36]
	size := le.Uint32(b[16:])
	s.channels, s.rate = int(le.Uint16(form[2:])), int(le.Uint32(form[4:]))
	second, sample, depth := le.Uint32(form[8:]), int(le.Uint16(form[12:])), int(le.Uint16(form[14:]))
	switch {
	case size != 16 && size != 18:
		return s, fmt.Errorf("Bad format chunk size for WAV: Expected 16 or 18, but got %d", size)
	case le.Uint16(form) != 1:
		return s, fmt.Errorf("Bad audio format for WAV: Expected 1 (PCM), but got %d", le.Uint16(form))
	case s.channels < 1:
		return s, fmt.Errorf("Bad number of channels for WAV: Expected at least 1, but got %d", s.channels)
	case depth != 16:
		return s, fmt.Errorf("Can only read 16-bit WAV files, but received %d", depth)
	case sample != (depth*s.channels+7)/8:
		return s, fmt.Errorf("Bad bytes per sample in WAV header: Expected %d but got %d", (depth*s.channels+7)/8, sample)
	case second != uint32(sample)*uint32(s.rate):
		return s, fmt.Errorf("Bad bytes per second in WAV header: Expected %d but got %d", uint32(sample)*uint32(s.rate), second)
	}
	return s, s.chunks(b[min(20+int(size), len(b)):], sample)
}

// chunks finds the data among the chunks of a file.
func (s *sound) chunks(b []byte, sample int) error {
	found := false
	for len(b) > 0 {
		if len(b) < 8 {
			return fmt.Errorf("%w: data too short when trying to read a chunk", errWav)
		}
		size := int(binary.LittleEndian.Uint32(b[4:]))
		id := string(b[:4])
		b = b[8:]
		if size > math.MaxInt32 {
			return fmt.Errorf("%w: chunk of %d bytes", errWav, size)
		}
		if id == "data" {
			if found {
				return fmt.Errorf("More than one data chunk found in WAV")
			}
			found = true
			size = size / sample * sample
			if size <= len(b) {
				s.samples = b[:size]
			}
		}
		if size > len(b) {
			return fmt.Errorf("%w: data too short: a chunk of %d bytes has %d", errWav, size, len(b))
		}
		b = b[size:]
	}
	if !found {
		return fmt.Errorf("No data chunk found in WAV")
	}
	return nil
}

// decodeWav gives samples [length, channels] from -1 to 1 and their rate. Channels that are not there repeat the last one; samples are zeros.
func decodeWav(s *site) (kernel, error) {
	channels, length := s.node.Int("desired_channels", -1), s.node.Int("desired_samples", -1)
	return func(c call) error {
		b, err := text("contents", c.t(0))
		if err != nil {
			return err
		}
		w, err := parseWav(b)
		if err != nil {
			return err
		}
		have, want, count := len(w.samples)/2/w.channels, length, channels
		if want == -1 {
			want = have
		}
		if count == -1 {
			count = w.channels
		}
		dst, err := outputOf[float32](c, 0, want, count)
		if err != nil {
			return err
		}
		for i := 0; i < min(have, want); i++ {
			for k := range count {
				v := binary.LittleEndian.Uint16(w.samples[2*(i*w.channels+min(k, w.channels-1)):])
				dst[i*count+k] = float32(int16(v)) / (1 << 15)
			}
		}
		return c.scalarInt(1, tensor.Int32, int(int32(w.rate)))
	}, nil
}

func encodeWav(c call) error {
	t, rates := c.t(0), c.t(1)
	if t.DType != tensor.Float32 || len(t.Shape) != 2 {
		return fmt.Errorf("audio must be 2-dimensional of float32, got %v of shape %s", t.DType, shapeText(t.Shape))
	}
	if rates.DType != tensor.Int32 || len(rates.Shape) != 0 {
		return fmt.Errorf("sample_rate must be a scalar of int32, got shape %s", shapeText(rates.Shape))
	}
	rate, channels, size := tensor.Values[int32](rates)[0], t.Shape[1], 2*t.Len()
	if rate <= 0 || channels < 1 || channels > math.MaxUint16 || size > math.MaxUint32-44 {
		return fmt.Errorf("sample_rate, channels and frames must be positive and fit a WAV file: got %d and shape %s", rate, shapeText(t.Shape))
	}
	if err := c.room(size+44, 1); err != nil {
		return err
	}
	le := binary.LittleEndian
	b := le.AppendUint32(append(make([]byte, 0, size+44), "RIFF"...), uint32(size+36))
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), uint16(channels))
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(rate)*uint32(2*channels))
	b = le.AppendUint16(le.AppendUint16(b, uint16(2*channels)), 16)
	b = le.AppendUint32(append(b, "data"...), uint32(size))
	for _, v := range tensor.Values[float32](t) {
		b = le.AppendUint16(b, uint16(int16(min(max(math.Round(float64(v*(1<<15))), math.MinInt16), math.MaxInt16))))
	}
	out, err := c.output(0, tensor.String)
	if err == nil {
		out.Strings[0] = b
	}
	return err
}
