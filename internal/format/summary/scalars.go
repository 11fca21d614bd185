package summary

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
)

// Scalars are the scalar summaries of a directory by step, then tag.
type Scalars map[int64]map[string]float64

// ReadScalars collects the scalars of a directory's event files, from
// TensorFlow 1 or 2. Later values replace earlier ones of the same step;
// a SessionStart drops its step and later ones. If files are damaged, it
// returns what could be read together with the error.
func ReadScalars(dir string) (Scalars, error) {
	s := Scalars{}
	var errs []error
	for e, err := range Read(dir) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.add(e)
	}
	return s, errors.Join(errs...)
}

// Steps returns the steps in ascending order.
func (s Scalars) Steps() []int64 { return slices.Sorted(maps.Keys(s)) }

// Series returns one tag's steps and values in ascending order of the step.
func (s Scalars) Series(tag string) (steps []int64, values []float64) {
	for _, n := range s.Steps() {
		if v, ok := s[n][tag]; ok {
			steps, values = append(steps, n), append(values, v)
		}
	}
	return steps, values
}

// Tags returns all tags, sorted.
func (s Scalars) Tags() []string {
	tags := map[string]bool{}
	for _, m := range s {
		for t := range m {
			tags[t] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}

func (s Scalars) add(e *Event) {
	if l := e.GetSessionLog(); l.GetStatus() == eventpb.SessionLog_START {
		maps.DeleteFunc(s, func(step int64, _ map[string]float64) bool { return step >= e.Step })
	}
	for _, v := range e.GetSummary().GetValue() {
		x, ok := scalarOf(v)
		if !ok {
			continue
		}
		if s[e.Step] == nil {
			s[e.Step] = map[string]float64{}
		}
		s[e.Step][v.Tag] = x
	}
}

// scalarOf returns the number of a scalar summary: TensorFlow 1 has a field for
// it, TensorFlow 2 a tensor of the plugin "scalars".
func scalarOf(v *Value) (float64, bool) {
	if t := v.GetTensor(); t != nil && v.GetMetadata().GetPluginData().GetPluginName() == pluginScalars {
		return tensorScalar(t)
	}
	if _, ok := v.GetValue().(*summarypb.Summary_Value_SimpleValue); !ok {
		return 0, false
	}
	return float64(v.GetSimpleValue()), true
}

func tensorScalar(t *tensorpb.TensorProto) (float64, bool) {
	b := t.TensorContent
	switch {
	case t.Dtype == typespb.DataType_DT_FLOAT && len(b) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case t.Dtype == typespb.DataType_DT_FLOAT && len(t.FloatVal) == 1:
		return float64(t.FloatVal[0]), true
	case t.Dtype == typespb.DataType_DT_DOUBLE && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case t.Dtype == typespb.DataType_DT_DOUBLE && len(t.DoubleVal) == 1:
		return t.DoubleVal[0], true
	}
	return 0, false
}
