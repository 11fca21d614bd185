package summary

import (
	"encoding/binary"
	"fmt"
	"math"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// Audio returns up to maxOutputs sounds of a float32 tensor of shape [n, frames, channels] or [n, frames], with samples from
// -1 to 1, as 16-bit WAV. The rate is in frames per second. The tags are tag/audio, or tag/audio/0 and so on.
func Audio(tag string, t *tensor.Tensor, rate float64, maxOutputs int) ([]*Value, error) {
	shape := t.Shape
	if len(shape) == 2 {
		shape = []int{shape[0], shape[1], 1}
	}
	if t.DType != tensor.Float32 || len(shape) != 3 || shape[2] > math.MaxUint16 {
		return nil, fmt.Errorf("audio %s: expected float32 of shape [n, frames, channels] or [n, frames], got %v of shape %v", tag, t.DType, t.Shape)
	}
	if !(rate > 0 && rate <= math.MaxUint32) {
		return nil, fmt.Errorf("audio %s: expected a sample rate above 0, got %v", tag, rate)
	}
	frames, channels := shape[1], shape[2]
	if size := int64(frames) * int64(channels) * 2; size > math.MaxUint32-wavHeader {
		return nil, fmt.Errorf("audio %s: expected at most %d bytes of samples, got %d", tag, math.MaxUint32-wavHeader, size)
	}
	var out []*Value
	for i := range min(shape[0], maxOutputs) {
		samples := tensor.Values[float32](t)[i*frames*channels : (i+1)*frames*channels]
		name := tag + "/audio"
		if maxOutputs > 1 {
			name = fmt.Sprintf("%s/%d", name, i)
		}
		out = append(out, &Value{Tag: name, Value: &summarypb.Summary_Value_Audio{Audio: &summarypb.Summary_Audio{
			SampleRate: float32(rate), NumChannels: int64(channels), LengthFrames: int64(frames), ContentType: "audio/wav",
			EncodedAudioString: encodeWAV(samples, channels, uint32(rate)),
		}}})
	}
	return out, nil
}

// wavHeader is the number of bytes before the samples.
const wavHeader = 44

// encodeWAV writes 16-bit samples.
func encodeWAV(samples []float32, channels int, rate uint32) []byte {
	const bytes = 2
	size := uint32(len(samples) * bytes)
	b := make([]byte, 0, wavHeader+int(size))
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, "RIFF"...), wavHeader-8+size)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), uint16(channels))
	b = le.AppendUint32(le.AppendUint32(b, rate), rate*uint32(channels)*bytes)
	b = le.AppendUint16(le.AppendUint16(b, uint16(channels)*bytes), 8*bytes)
	b = le.AppendUint32(append(b, "data"...), size)
	for _, s := range samples {
		v := math.Round(float64(s) * (1 << 15))
		b = le.AppendUint16(b, uint16(int16(max(min(v, math.MaxInt16), math.MinInt16))))
	}
	return b
}
