package warmup

import (
	"bytes"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

func FuzzReplay(f *testing.F) {
	var logs []*apis.PredictionLog
	for _, text := range []string{
		`predict_log { request { inputs { key: "x" value { dtype: DT_FLOAT float_val: 1 } } } }`,
		`regress_log { request { model_spec { signature_name: "regress" } input { example_list { examples {} } } } }`,
		`multi_inference_log { request { tasks { model_spec { name: "m" signature_name: "regress" } method_name: "tensorflow/serving/regress" } input { example_list { examples {} } } } }`,
	} {
		l := &apis.PredictionLog{}
		if err := prototext.Unmarshal([]byte(text), l); err != nil {
			f.Fatal(err)
		}
		logs = append(logs, l)
	}
	records, err := Encode(logs...)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(records)
	f.Add(records[:len(records)/2])
	m := modeltest.New()
	delete(m.Sigs, "waits")
	s := &inference.Service{Models: only{servable.ID{Name: "m", Version: 1}, m}}
	f.Fuzz(func(t *testing.T, records []byte) {
		_ = replayAll(t.Context(), s, file{bytes.NewReader(records), "records", "m", Options{}}) // does not panic or hang
	})
}
