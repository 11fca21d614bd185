package summary

import (
	"fmt"

	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// names of TensorBoard's plugins
const (
	pluginText    = "text"
	pluginScalars = "scalars"
)

// Scalar returns a scalar; event files keep it as a float32.
func Scalar(tag string, value float64) *Value {
	return &Value{Tag: tag, Value: &summarypb.Summary_Value_SimpleValue{SimpleValue: float32(value)}}
}

// Text returns lines of Markdown for TensorBoard's text plugin: a single string,
// or several lines as a table with one column.
func Text(tag string, lines ...string) *Value {
	values := make([][]byte, len(lines))
	for i, l := range lines {
		values[i] = []byte(l)
	}
	t := &tensor.Tensor{DType: tensor.String, Shape: []int{len(lines)}, Strings: values}
	if len(lines) == 1 {
		t.Shape = nil
	}
	return tensorValue(tag, pluginText, t)
}

// Tensor returns any tensor, to be shown by the TensorBoard plugin with this name;
// "" is for other readers.
func Tensor(tag, plugin string, t *tensor.Tensor) (*Value, error) {
	if t.DType != tensor.String && t.DType.Size() == 0 {
		return nil, fmt.Errorf("tensor summary %s: unsupported data type %s", tag, t.DType)
	}
	return tensorValue(tag, plugin, t), nil
}

func tensorValue(tag, plugin string, t *tensor.Tensor) *Value {
	p := &tensorpb.TensorProto{Dtype: typespb.DataType(t.DType), TensorShape: &shapepb.TensorShapeProto{}}
	for _, d := range t.Shape {
		p.TensorShape.Dim = append(p.TensorShape.Dim, &shapepb.TensorShapeProto_Dim{Size: int64(d)})
	}
	if t.DType == tensor.String {
		p.StringVal = t.Strings
	} else {
		p.TensorContent = t.Bytes
	}
	v := &Value{
		Tag:      tag,
		Value:    &summarypb.Summary_Value_Tensor{Tensor: p},
		Metadata: &summarypb.SummaryMetadata{},
	}
	if plugin != "" {
		v.Metadata.PluginData = &summarypb.SummaryMetadata_PluginData{PluginName: plugin}
		v.Metadata.DataClass = summarypb.DataClass_DATA_CLASS_TENSOR
	}
	return v
}

func valuesEvent(step int64, values []*Value) *Event {
	return &Event{Step: step, What: &eventpb.Event_Summary{Summary: &summarypb.Summary{Value: values}}}
}

// GraphEvent returns the event with a serialized GraphDef, which
// TensorBoard's graph page shows.
func GraphEvent(step int64, graphDef []byte) *Event {
	return &Event{Step: step, What: &eventpb.Event_GraphDef{GraphDef: graphDef}}
}

// SessionStart returns the event that marks a start or restart: readers drop what an
// earlier process wrote for this step and later ones.
func SessionStart(step int64) *Event {
	return sessionLog(step, &eventpb.SessionLog{Status: eventpb.SessionLog_START})
}

// SessionCheckpoint returns the event that marks a saved checkpoint.
func SessionCheckpoint(step int64, prefix string) *Event {
	return sessionLog(step, &eventpb.SessionLog{Status: eventpb.SessionLog_CHECKPOINT, CheckpointPath: prefix})
}

func sessionLog(step int64, l *eventpb.SessionLog) *Event {
	return &Event{Step: step, What: &eventpb.Event_SessionLog{SessionLog: l}}
}
