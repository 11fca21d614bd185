package eager

import (
	"fmt"
	"slices"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
)

// summaryOps make summaries: protocol buffers of tagged values.
var summaryOps = map[*ops.Def]maker{
	ops.ScalarSummary:    plain(summarized(scalarSummary)),
	ops.HistogramSummary: plain(summarized(histogramSummary)),
	ops.ImageSummary:     imageSummary,
	ops.AudioSummary:     audioSummary,
	ops.AudioSummaryV2:   audioSummary,
	ops.TensorSummary:    tensorSummary,
	ops.TensorSummaryV2:  plain(summarized(tensorSummaryV2)),
	ops.MergeSummary:     mergeSummary,
}

// summarized returns a kernel whose output is a summary of values.
func summarized(values func(c call) ([]*summary.Value, error)) kernel {
	return func(c call) error {
		v, err := values(c)
		if err != nil {
			return err
		}
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&summarypb.Summary{Value: v})
		if err != nil {
			return err
		}
		if err := c.room(len(b), 1); err != nil {
			return err
		}
		c.set(0, textScalar(string(b)))
		return nil
	}
}

func scalarSummary(c call) ([]*summary.Value, error) {
	tags, values := c.t(0), c.t(1)
	if tags.DType != tensor.String || !slices.Equal(tags.Shape, values.Shape) && (tags.Len() != 1 || values.Len() != 1) {
		return nil, fmt.Errorf("tags and values are not the same shape: %v != %v", tags.Shape, values.Shape)
	}
	if values.DType == tensor.String || values.DType.Size() == 0 {
		return nil, fmt.Errorf("scalars of type %v %w", values.DType, ErrUnsupported)
	}
	all := make([]*summary.Value, len(tags.Strings))
	for i, tag := range tags.Strings {
		all[i] = summary.Scalar(string(tag), values.Float(i))
	}
	return all, nil
}

// floatRoom pays for the elements of a tensor as float64.
func (c call) floatRoom(t *tensor.Tensor) error { return c.room(t.Len(), 8) }

func histogramSummary(c call) ([]*summary.Value, error) { return c.histogram("tag", 0, 1) }

// histogram returns the histogram of one input, with the tag from another.
func (c call) histogram(name string, tag, values int) ([]*summary.Value, error) {
	t, err := text(name, c.t(tag))
	if err != nil {
		return nil, err
	}
	if err := c.floatRoom(c.t(values)); err != nil {
		return nil, err
	}
	v, err := summary.Histogram(string(t), c.t(values))
	return []*summary.Value{v}, err
}

func imageSummary(s *site) (kernel, error) {
	most := s.count("max_images", 3, 1<<20)
	return summarized(func(c call) ([]*summary.Value, error) { return c.images(0, 1, most) }), nil
}

// images returns the images of one input, with the tag from another.
func (c call) images(tag, pixels, most int) ([]*summary.Value, error) {
	name, err := text("tag", c.t(tag))
	if err != nil {
		return nil, err
	}
	t := c.t(pixels)
	if len(t.Shape) != 4 {
		return nil, fmt.Errorf("Tensor must be 4-D with last dim 1, 3, or 4, not %v", t.Shape)
	}
	if err := c.floatRoom(t); err != nil {
		return nil, err
	}
	return summary.Image(string(name), t, most)
}

func audioSummary(s *site) (kernel, error) {
	most, rate := s.count("max_outputs", 3, 1<<20), s.node.Float("sample_rate", 0)
	return summarized(func(c call) ([]*summary.Value, error) {
		if len(c.in) == 2 {
			return c.audio(0, float64(rate), most)
		}
		rate, err := c.sampleRate(2)
		if err != nil {
			return nil, err
		}
		return c.audio(0, rate, most)
	}), nil
}

func (c call) sampleRate(i int) (float64, error) {
	if t := c.t(i); t.DType == tensor.Float32 && t.Len() == 1 {
		return t.Float(0), nil
	}
	return 0, fmt.Errorf("sample_rate: expected one float32, got %v of shape %v", c.t(i).DType, c.t(i).Shape)
}

// audio returns the audio of the input after the tag's.
func (c call) audio(tag int, rate float64, most int) ([]*summary.Value, error) {
	name, err := text("tag", c.t(tag))
	if err != nil {
		return nil, err
	}
	if err := c.room(c.t(tag+1).Len(), 2); err != nil {
		return nil, err
	}
	return summary.Audio(string(name), c.t(tag+1), rate, most)
}

func tensorSummary(s *site) (kernel, error) {
	name := s.node.Name
	return summarized(func(c call) ([]*summary.Value, error) {
		v, err := summary.Tensor("", "", c.t(0))
		if err != nil {
			return nil, err
		}
		v.NodeName, v.Metadata = name, nil
		return []*summary.Value{v}, nil
	}), nil
}

func tensorSummaryV2(c call) ([]*summary.Value, error) { return c.tagged(0, 1, 2) }

// tagged returns an input with its tag and metadata from other inputs.
func (c call) tagged(tag, value, metadata int) ([]*summary.Value, error) {
	name, err := text("tag", c.t(tag))
	if err != nil {
		return nil, err
	}
	meta, err := text("summary_metadata", c.t(metadata))
	if err != nil {
		return nil, err
	}
	v, err := summary.Tensor(string(name), "", c.t(value))
	if err != nil {
		return nil, err
	}
	v.Metadata = nil
	if len(meta) > 0 {
		v.Metadata = &summarypb.SummaryMetadata{}
		if err := proto.Unmarshal(meta, v.Metadata); err != nil {
			return nil, fmt.Errorf("summary_metadata: expected a SummaryMetadata: %w", err)
		}
	}
	return []*summary.Value{v}, nil
}

func mergeSummary(s *site) (kernel, error) {
	return summarized(func(c call) ([]*summary.Value, error) {
		var all []*summary.Value
		tags := map[string]bool{}
		for i := range c.in {
			for _, b := range c.t(i).Strings {
				var one summarypb.Summary
				if err := proto.Unmarshal(b, &one); err != nil {
					return nil, fmt.Errorf("could not parse one of the summary inputs: %w", err)
				}
				for _, v := range one.GetValue() {
					if tag := v.GetTag(); tag != "" && tags[tag] {
						return nil, fmt.Errorf("Duplicate tag %s found in summary inputs", clip([]byte(tag)))
					}
					tags[v.GetTag()] = true
				}
				all = append(all, one.GetValue()...)
			}
		}
		return all, nil
	}), nil
}
