package summary_test

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/google/go-cmp/cmp"
)

// fields returns the contents of a message with length-delimited, varint and fixed64 fields, in order.
func fields(t *testing.T, b []byte) (numbers []protowire.Number, contents [][]byte, words []uint64) {
	t.Helper()
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		var content []byte
		var word uint64
		switch b = b[n:]; kind {
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			word, n = protowire.ConsumeVarint(b)
		default:
			word, n = protowire.ConsumeFixed64(b)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		numbers, contents, words, b = append(numbers, number), append(contents, content), append(words, word), b[n:]
	}
	return numbers, contents, words
}

// The plugin's messages, by the field numbers of its plugin_data.proto.
func TestHParams(t *testing.T) {
	v, err := summary.HParams(map[string]any{"rate": 0.5, "name": "adam", "on": true}, 2)
	if err != nil {
		t.Fatal(err)
	}
	plugin := v.GetMetadata().GetPluginData()
	if v.Tag != "_hparams_/session_start_info" || plugin.PluginName != "hparams" {
		t.Errorf("tag %s, plugin %s", v.Tag, plugin.PluginName)
	}
	numbers, contents, _ := fields(t, plugin.Content)
	if d := cmp.Diff([]protowire.Number{3}, numbers); d != "" {
		t.Fatalf("data (-want +got):\n%s", d)
	}
	numbers, contents, words := fields(t, contents[0])
	if d := cmp.Diff([]protowire.Number{1, 1, 1, 5}, numbers); d != "" || math.Float64frombits(words[3]) != 2 {
		t.Fatalf("session start (-want +got):\n%s, time %v", d, words)
	}
	got := map[string]any{}
	for _, entry := range contents[:3] {
		_, pair, _ := fields(t, entry)
		var value structpb.Value
		if err := proto.Unmarshal(pair[1], &value); err != nil {
			t.Fatal(err)
		}
		got[string(pair[0])] = value.AsInterface()
	}
	if d := cmp.Diff(map[string]any{"rate": 0.5, "name": "adam", "on": true}, got); d != "" {
		t.Errorf("hyperparameters (-want +got):\n%s", d)
	}
	if _, err := summary.HParams(map[string]any{"x": struct{}{}}, 0); err == nil {
		t.Error("a value of an unknown kind was taken")
	}
	_, contents, _ = fields(t, summary.HParamsEnd(summary.StatusFailure, 3).GetMetadata().GetPluginData().Content)
	if numbers, _, words = fields(t, contents[0]); len(numbers) != 2 || words[0] != 2 || math.Float64frombits(words[1]) != 3 {
		t.Errorf("session end: fields %v, %v", numbers, words)
	}
}
