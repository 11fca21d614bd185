package eager

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/format/wav"
	"github.com/goestimator/goestimator/tensor"
)

// decodeWav outputs samples [length, channels] from -1 to 1, and their rate. Missing channels repeat the last one; missing samples are zeros.
func decodeWav(s *site) (kernel, error) {
	channels, length := s.node.Int("desired_channels", -1), s.node.Int("desired_samples", -1)
	return func(c call) error {
		b, err := text("contents", c.t(0))
		if err != nil {
			return err
		}
		w, err := wav.Parse16(b)
		if err != nil {
			return err
		}
		have, want, count := len(w.Samples)/2/w.Channels, length, channels
		if want == -1 {
			want = have
		}
		if count == -1 {
			count = w.Channels
		}
		dst, err := outputOf[float32](c, 0, want, count)
		if err != nil {
			return err
		}
		for i := 0; i < min(have, want); i++ {
			for k := range count {
				v := binary.LittleEndian.Uint16(w.Samples[2*(i*w.Channels+min(k, w.Channels-1)):])
				dst[i*count+k] = float32(int16(v)) / (1 << 15)
			}
		}
		return c.scalarInt(1, tensor.Int32, int(int32(w.Rate)))
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
