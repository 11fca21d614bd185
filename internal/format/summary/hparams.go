package summary

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/goestimator/goestimator/tensor"
)

// The plugin, tags and field numbers of tensorboard/plugins/hparams/plugin_data.proto.
const (
	pluginHParams   = "hparams"
	tagSessionStart = "_hparams_/session_start_info"
	tagSessionEnd   = "_hparams_/session_end_info"

	fieldSessionStart = 3 // of HParamsPluginData
	fieldSessionEnd   = 4
	fieldHParams      = 1 // of SessionStartInfo
	fieldStartTime    = 5
	fieldStatus       = 1 // of SessionEndInfo
	fieldEndTime      = 2
)

// Status is how a session of TensorBoard's hparams plugin ended.
type Status uint64

// The statuses, with the plugin's numbers.
const (
	StatusSuccess Status = 1
	StatusFailure Status = 2
)

// HParams returns a value that tells TensorBoard's hparams plugin that a run began, in seconds since 1970, with these
// hyperparameters: numbers, booleans or texts.
func HParams(values map[string]any, began float64) (*Value, error) {
	var info []byte
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v, err := structpb.NewValue(values[name])
		if err != nil {
			return nil, err
		}
		b, err := proto.Marshal(v)
		if err != nil {
			return nil, err
		}
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		info = message(info, fieldHParams, message(entry, 2, b))
	}
	return hparamsValue(tagSessionStart, fieldSessionStart, double(info, fieldStartTime, began)), nil
}

// HParamsEnd returns a value that tells the plugin that the run in a folder has ended.
func HParamsEnd(s Status, ended float64) *Value {
	info := protowire.AppendVarint(protowire.AppendTag(nil, fieldStatus, protowire.VarintType), uint64(s))
	return hparamsValue(tagSessionEnd, fieldSessionEnd, double(info, fieldEndTime, ended))
}

// hparamsValue returns plugin data with an empty tensor.
func hparamsValue(tag string, field protowire.Number, info []byte) *Value {
	v := tensorValue(tag, pluginHParams, &tensor.Tensor{DType: tensor.Float32, Shape: []int{1}, Bytes: make([]byte, 4)})
	v.Metadata.PluginData.Content = message(nil, field, info)
	return v
}

func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

func double(b []byte, field protowire.Number, x float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(x))
}
